// Who lends quota to whom in a tree of cohorts, as a picture: lenders on the left, borrowers on the right, a band for
// each flow.
import { useId, useMemo, useState } from "preact/hooks";
import { flowsOf, lenderName, sentencesOf, useWords, type Flows, type Party } from "./flows";
import { pictureOf, type Placed } from "./flow_picture";
import { amount } from "./format";
import { Table } from "./parts";
import { Link, paths } from "./router";
import { useNarrow } from "./rows";
import type { Cohort } from "./tree";

const PARTY_PX = 48; // two lines of words
const NARROW_PARTY_PX = 88; // four

// `own`: the queue whose name is no link; `title`: above the pictures; `none`: what stands in place of them.
export function QuotaFlows({ cohort, own = "", title, none }: { cohort: Cohort; own?: string; title?: string; none?: string }) {
  const all = useMemo(() => flowsOf(cohort), [cohort]);
  if (all.length === 0) return none ? <p class="quiet">{none}</p> : null;
  return (
    <>
      {title && <h3>{title}</h3>}
      <div class="flows">
        {all.map((flows) => (
          <FlowPicture key={flows.resource} flows={flows} own={own} />
        ))}
      </div>
      {all.some((flows) => flows.isShared) && (
        <p class="quiet">A cohort pools unused quota. Where several could lend, each is shown with a part in proportion to what it leaves unused.</p>
      )}
    </>
  );
}

function FlowPicture({ flows, own }: { flows: Flows; own: string }) {
  const [isOpen, setOpen] = useState(false);
  const least = useNarrow() ? NARROW_PARTY_PX : PARTY_PX;
  const { height, lenders, borrowers, bands } = useMemo(() => pictureOf(flows, least), [flows, least]);
  const names = new Map([...flows.lenders, ...flows.borrowers].map((each) => [each.key, lenderName(each)]));
  const ink = useId();
  return (
    <figure class="flow">
      <figcaption>
        <b>{flows.resource}</b> {amount(flows.flows.reduce((total, each) => total + each.amount, 0), flows.unit)} borrowed
      </figcaption>
      <div class="flow-sides" style={{ height: `${height}px` }}>
        <Parties label={`Lenders of ${flows.resource}`} verb="lends" parties={flows.lenders} at={lenders} unit={flows.unit} own={own} />
        <div class="flow-bands" role="img" aria-label={sentencesOf(flows).join(" ")}>
          <svg viewBox={`0 0 100 ${height}`} preserveAspectRatio="none" aria-hidden="true">
            <linearGradient id={ink}>
              <stop class="flow-start" offset="0" />
              <stop class="flow-end" offset="1" />
            </linearGradient>
            {bands.map((band, i) => (
              <path
                key={i}
                fill={`url(#${ink})`}
                d={`M0 ${band.from}C50 ${band.from} 50 ${band.to} 100 ${band.to}V${band.to + band.height}C50 ${band.to + band.height} 50 ${band.from + band.height} 0 ${band.from + band.height}Z`}
              />
            ))}
          </svg>
          {flows.flows.map((flow, i) => {
            const band = bands[i] ?? { to: 0, height: 0 };
            return (
              <b key={i} style={{ top: `${band.to}px`, height: `${band.height}px` }} title={`${names.get(flow.from)} lends ${amount(flow.amount, flows.unit)} to ${names.get(flow.to)}`}>
                {amount(flow.amount, flows.unit)} ▸
              </b>
            );
          })}
        </div>
        <Parties label={`Borrowers of ${flows.resource}`} verb="borrows" parties={flows.borrowers} at={borrowers} unit={flows.unit} own={own} />
      </div>
      <details onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary>Values</summary>
        {isOpen && <Table heads={["Lender", "Borrower", flows.resource]} numbers={[2]} rows={flows.flows.map((flow) => [names.get(flow.from), names.get(flow.to), amount(flow.amount, flows.unit)])} />}
      </details>
    </figure>
  );
}

function Parties({ label, verb, parties, at, unit, own }: { label: string; verb: string; parties: Party[]; at: Placed[]; unit: string; own: string }) {
  return (
    <ul class={`flow-${verb}`} aria-label={label}>
      {parties.map((party, i) => (
        <li key={party.key} style={{ top: `${at[i]?.top ?? 0}px`, height: `${at[i]?.height ?? 0}px` }}>
          <span class="flow-name" title={party.name}>
            {party.kind === "queue" && party.name !== own ? <Link to={paths.queue(party.name)}>{party.name}</Link> : <b>{lenderName(party)}</b>}
          </span>
          <span class="figure">
            {verb} <b>{amount(party.moved, unit)}</b>
            {party.kind === "elsewhere" ? ": quota that you do not see, or that was cut" : useWords(party, unit) && `, ${useWords(party, unit)}`}
          </span>
        </li>
      ))}
    </ul>
  );
}
