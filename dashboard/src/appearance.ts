// The reader's choices of look: theme and density, kept by the browser, as attributes of the document.
import { keptStore, Store } from "./store";

export const theme = keptStore("berth.theme", ""); // "light", "dark"; empty: the system's
export const density = keptStore("berth.density", ""); // "compact"; empty: roomy
export const isFolded = keptStore("berth.folded", ""); // "1": the navigation shows icons alone

// Changes when the colours on the screen change.
export const colors = new Store(0);

function apply(): void {
  const root = document.documentElement;
  root.dataset["theme"] = theme.get() || "system";
  root.dataset["density"] = density.get() || "roomy";
  colors.set(colors.get() + 1);
}

export function startAppearance(): void {
  apply();
  theme.listen(apply);
  density.listen(apply);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", apply);
}
