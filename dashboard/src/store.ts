// A value that views follow: a change draws them again.
import { useEffect, useState } from "preact/hooks";

export class Store<T> {
  private readonly listeners = new Set<() => void>();
  constructor(private value: T) {}

  get(): T {
    return this.value;
  }
  set(value: T): void {
    if (Object.is(value, this.value)) return;
    this.value = value;
    for (const listener of [...this.listeners]) listener();
  }
  listen(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }
}

export function useStore<T>(store: Store<T>): T {
  const [, draw] = useState(0);
  const drawn = store.get();
  useEffect(() => {
    const redraw = () => draw((n) => n + 1);
    // Effects run after the view is on the screen: the value may have changed meanwhile.
    if (!Object.is(store.get(), drawn)) redraw();
    return store.listen(redraw);
  }, [store]);
  return drawn;
}

// What a browser keeps for this server; without storage (private windows) for this page alone.
export function keptStore(key: string, initial: string): Store<string> {
  let kept: string | null = null;
  try {
    kept = localStorage.getItem(key);
  } catch {
    // Storage is off.
  }
  const store = new Store(kept ?? initial);
  store.listen(() => {
    try {
      localStorage.setItem(key, store.get());
    } catch {
      // Storage is off.
    }
  });
  return store;
}
