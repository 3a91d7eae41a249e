// Where the focus goes when the button that was pressed is replaced: a reader with a keyboard keeps the place.
import { useLayoutEffect, useRef } from "preact/hooks";
import type { RefObject } from "preact";

// `leave` is called with the press, `outcome` is what the press led to, `next` the element that tells it.
// The focus stays where a reader has moved it since the press.
export function useNextFocus<T extends HTMLElement>(outcome: unknown): { next: RefObject<T | null>; leave: () => void } {
  const next = useRef<T>(null);
  const left = useRef<Element | null>(null);
  useLayoutEffect(() => {
    if (!outcome || !left.current) return;
    const at = document.activeElement;
    const isHeld = at === left.current && at instanceof HTMLButtonElement; // a field keeps the focus
    if (isHeld || at === document.body) next.current?.focus();
    left.current = null;
  }, [outcome]);
  return { next, leave: () => (left.current = document.activeElement) };
}

// The first button of a component that shows other buttons after a press.
export function useFirstButton(shown: unknown): { first: RefObject<HTMLButtonElement | null>; move: () => void } {
  const first = useRef<HTMLButtonElement>(null);
  const isMoving = useRef(false);
  useLayoutEffect(() => {
    if (isMoving.current) first.current?.focus();
    isMoving.current = false;
  }, [shown]);
  return { first, move: () => (isMoving.current = true) };
}
