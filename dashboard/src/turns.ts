// The turns of a workload with what was asked of clouds for each, from the ledger.
import type { WorkloadHistory } from "./berth_read_api";
import { duration } from "./format";

type Turn = WorkloadHistory["attempts"][number];

export interface ToldTurn {
  turn: Turn;
  asked: string | null; // of the first request for capacity
  provisioned: string | null; // when the first was granted
  how: string; // the end, with its reason
  waits: string;
}

// A request belongs to the turn in which it was made. A turn may keep the first place in the queue, so that it begins
// when the one before ended.
export function turnsOf(history: WorkloadHistory): ToldTurn[] {
  return history.attempts.map((turn, i) => {
    const before = history.attempts[i - 1]?.ended ?? "";
    const from = before > turn.queued ? before : turn.queued;
    const own = history.capacityRequests.filter((each) => each.created >= from && (turn.ended === null || each.created < turn.ended));
    const granted = own.map((each) => each.provisioned).filter((at) => at !== null);
    return {
      turn,
      asked: own[0]?.created ?? null,
      provisioned: granted.sort()[0] ?? null,
      how: turn.reason && turn.reason !== turn.outcome ? `${turn.outcome}: ${turn.reason}` : turn.outcome,
      waits: turn.waits.map((each) => `${each.cause} ${duration(each.seconds * 1000)}`).join(", "),
    };
  });
}
