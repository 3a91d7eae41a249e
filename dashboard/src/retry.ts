// When an answer is asked for again that a busy or lost server has not given.

const FIRST_MS = 1_000;
const SPREAD_MS = 2_000; // readers that were refused together come back apart
const LONGEST_MS = 30_000;

type Later = (run: () => void, milliseconds: number) => ReturnType<typeof setTimeout>;

// Whether the next try may succeed: no answer, or a server that is busy or not ready.
export function isPassing(status: number): boolean {
  return status === 0 || status === 503;
}

// Tries again after 1 to 3 s, then after twice as long, up to half a minute.
export class Retrier {
  private timer: ReturnType<typeof setTimeout> | undefined;
  private tries = 0;

  constructor(
    private readonly again: () => void,
    private readonly later: Later = (run, milliseconds) => setTimeout(run, milliseconds),
    private readonly random: () => number = Math.random,
  ) {}

  // After an answer; `problem`: what came in place of one.
  settle(problem: { status: number } | null): void {
    this.stop();
    if (problem === null || !isPassing(problem.status)) {
      this.tries = 0;
      return;
    }
    const pause = Math.min((FIRST_MS + SPREAD_MS * this.random()) * 2 ** this.tries, LONGEST_MS);
    this.tries += 1;
    this.timer = this.later(this.again, pause);
  }

  stop(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
  }
}
