// Positions in the server's feed of changes, "EPOCH.NUMBER": an event has one, and an answer has that of the last change in
// it. Numbers of two epochs cannot be compared: another process has counted.

function parts(position: string): { epoch: string; number: number } {
  const [epoch = "", number = ""] = position.split(".");
  return { epoch, number: Number(number) };
}

// Whether an answer of position `known` has the change at `position`.
export function contains(known: string, position: string): boolean {
  const [ours, theirs] = [parts(known), parts(position)];
  return ours.epoch === theirs.epoch && theirs.number <= ours.number;
}

// Whether an answer of position `known` lacks changes that a stream begun at `start` does not send. Without a position, and of
// another epoch, it is not known.
export function isBehind(known: string, start: string): boolean {
  const [ours, theirs] = [parts(known), parts(start)];
  return start !== "" && ours.epoch === theirs.epoch && ours.number < theirs.number;
}
