// The frame of every view: navigation at the side, the search, the health of the cluster, and the reader's choices.
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { density, isFolded, theme } from "./appearance";
import { Icon, isIcon, type IconName } from "./icons";
import { connection, scope } from "./live";
import { exactTimes } from "./parts";
import { address, Link, paths } from "./router";
import routes from "./routes.json";
import { SearchBox } from "./search_box";
import { useStore } from "./store";
import { known } from "./watch";

interface Reader {
  user: string;
  cluster: string; // its name; empty: it has none
  onLeave: (() => void) | null;
}

export function Frame({ user, cluster, onLeave, children }: Reader & { children: ComponentChildren }) {
  const folded = useStore(isFolded) !== "";
  const { path } = useStore(address);
  const [isOpen, setOpen] = useState(false); // on narrow screens
  const menu = useRef<HTMLButtonElement>(null);
  useEffect(() => setOpen(false), [path]);
  const close = (event: KeyboardEvent) => {
    if (event.key !== "Escape" || !isOpen) return;
    setOpen(false);
    menu.current?.focus();
  };
  return (
    <div class={`frame${folded ? " frame-folded" : ""}${isOpen ? " side-open" : ""}`} onKeyDown={close}>
      <a class="skip" href="#main">
        To the content
      </a>
      <Side user={user} cluster={cluster} onLeave={onLeave} folded={folded && !isOpen} />
      {isOpen && <div class="side-shade" onClick={() => setOpen(false)} />}
      <div class="frame-body">
        <header class="bar">
          <button ref={menu} type="button" class="bar-menu" aria-expanded={isOpen} aria-controls="side" aria-label="Menu" onClick={() => setOpen(!isOpen)}>
            <Icon name="menu" size={18} />
          </button>
          <SearchBox />
          <Scope />
          <div class="bar-tools">
            <Health />
            <Connection />
            <Settings />
          </div>
        </header>
        <Lost />
        <main id="main" tabIndex={-1}>
          {children}
        </main>
      </div>
    </div>
  );
}

function Side({ user, cluster, onLeave, folded }: Reader & { folded: boolean }) {
  const { path } = useStore(address);
  const tip = (word: string) => (folded ? word : undefined);
  const views = [{ path: paths.now, label: "Now", icon: "now" as IconName }, ...routes.flatMap(({ path: to, label }) => (label ? [{ path: to, label, icon: iconOf(label) }] : []))];
  const isCurrent = (to: string) => path === to || (to !== "/" && path.startsWith(`${to}/`));
  return (
    <nav class="side" id="side" aria-label="Views">
      <Link to={paths.now} class="brand" title={tip("Berth")}>
        <span class="brand-mark">
          <Icon name="queue" />
        </span>
        <span class="side-word">
          Berth <small>{cluster || location.host}</small>
        </span>
      </Link>
      <div class="side-views">
        {views.map((view) => (
          <Link key={view.path} to={view.path} current={isCurrent(view.path)} title={tip(view.label)}>
            <Icon name={view.icon} size={18} />
            <span class="side-word">{view.label}</span>
          </Link>
        ))}
      </div>
      <div class="side-foot">
        {user && (
          <div class="user" title={user}>
            <Icon name="user" size={18} />
            <span class="side-word">{user}</span>
          </div>
        )}
        {onLeave && (
          <button type="button" class="side-button" onClick={onLeave} title={tip("Sign out")}>
            <Icon name="leave" size={18} />
            <span class="side-word">Sign out</span>
          </button>
        )}
        <button type="button" class="side-button side-fold" aria-pressed={folded} onClick={() => isFolded.set(folded ? "" : "1")} title={tip("Fold the navigation")}>
          <Icon name="fold" size={18} />
          <span class="side-word">Fold</span>
        </button>
      </div>
    </nav>
  );
}

function iconOf(label: string): IconName {
  const name = label.toLowerCase();
  return isIcon(name) ? name : "queue";
}

function Scope() {
  const namespaces = useStore(scope);
  return (
    <label class="bar-scope">
      Namespaces
      <input type="text" value={namespaces} placeholder="all" spellcheck={false} onChange={(event) => scope.set(event.currentTarget.value.replaceAll(/\s+/g, ""))} />
    </label>
  );
}

// The worst of what somebody should look at, in a word.
function Health() {
  const now = useStore(known);
  if (!now || now.states === null) return null;
  const { alerts } = now;
  const level = alerts.some((each) => each.severity === "bad") ? "bad" : alerts.length > 0 ? "warn" : "good";
  return (
    <Link to={paths.now} class={`health health-${level}`}>
      <Icon name={level} />
      {alerts.length === 0 ? "healthy" : `${alerts.length} to look at`}
    </Link>
  );
}

const CONNECTION = { connecting: "connecting", live: "live", lost: "connection lost", refused: "no live changes" };

function Connection() {
  const state = useStore(connection);
  return (
    <span class={`connection connection-${state}`} role="status">
      <Icon name={state === "lost" || state === "refused" ? "lost" : "live"} />
      {CONNECTION[state]}
    </span>
  );
}

function Lost() {
  const state = useStore(connection);
  if (state !== "lost" && state !== "refused") return null;
  return (
    <div class="lost" role="alert">
      {state === "lost"
        ? "The connection is lost. What is shown may be out of date; the page tries again by itself."
        : "What is shown may be out of date: this account may not list all that the page shows. Name your namespaces in the field at the top."}
    </div>
  );
}

export function Segments({ label, value, options, onChange }: { label: string; value: string; options: { value: string; word: string; icon?: IconName }[]; onChange: (value: string) => void }) {
  return (
    <span class="segments" role="group" aria-label={label}>
      {options.map((each) => (
        <button key={each.value} type="button" aria-pressed={each.value === value} onClick={() => onChange(each.value)}>
          {each.icon && <Icon name={each.icon} size={14} />}
          {each.word}
        </button>
      ))}
    </span>
  );
}

function Settings() {
  const [isOpen, setOpen] = useState(false);
  const box = useRef<HTMLDivElement>(null);
  const isExact = useStore(exactTimes) !== "";
  const chosenTheme = useStore(theme);
  const chosenDensity = useStore(density);
  useEffect(() => {
    if (!isOpen) return;
    const away = (event: Event) => {
      if (!box.current?.contains(event.target as Node)) setOpen(false);
    };
    addEventListener("pointerdown", away);
    addEventListener("focusin", away);
    return () => {
      removeEventListener("pointerdown", away);
      removeEventListener("focusin", away);
    };
  }, [isOpen]);
  const close = (event: KeyboardEvent) => {
    if (event.key !== "Escape" || !isOpen) return;
    setOpen(false);
    box.current?.querySelector("button")?.focus();
  };
  return (
    <div class="menu" ref={box} onKeyDown={close}>
      <button type="button" aria-expanded={isOpen} aria-controls="settings" aria-label="Display" title="Display" onClick={() => setOpen(!isOpen)}>
        <Icon name="settings" />
      </button>
      {isOpen && (
        <div class="menu-box" id="settings" role="group" aria-label="Display">
          <fieldset>
            <legend>Theme</legend>
            <Segments
              label="Theme"
              value={chosenTheme}
              onChange={(value) => theme.set(value)}
              options={[
                { value: "", word: "system", icon: "system" },
                { value: "light", word: "light", icon: "light" },
                { value: "dark", word: "dark", icon: "dark" },
              ]}
            />
          </fieldset>
          <fieldset>
            <legend>Density</legend>
            <Segments
              label="Density"
              value={chosenDensity}
              onChange={(value) => density.set(value)}
              options={[
                { value: "", word: "roomy" },
                { value: "compact", word: "compact" },
              ]}
            />
          </fieldset>
          <label>
            exact times
            <input type="checkbox" checked={isExact} onChange={(event) => exactTimes.set(event.currentTarget.checked ? "1" : "")} />
          </label>
        </div>
      )}
    </div>
  );
}
