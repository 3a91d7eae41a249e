// The places of lenders, borrowers and the bands between them, in pixels from the top.
import { sum, type Flows, type Party } from "./flows";

export interface Placed {
  top: number;
  height: number;
}
export interface Picture {
  height: number;
  lenders: Placed[];
  borrowers: Placed[];
  bands: { from: number; to: number; height: number }[]; // upper ends at the lender and at the borrower, by flow
}

const WHOLE_PX = 140; // of all that is borrowed
const LEAST_BAND_PX = 18; // a number stands in it
const GAP_PX = 8;

// The places of parties and bands. `least`: the height that the words of a party need.
export function pictureOf({ lenders, borrowers, flows }: Flows, least: number): Picture {
  const total = sum(flows.map((flow) => flow.amount));
  const heights = flows.map((flow) => Math.max(LEAST_BAND_PX, (WHOLE_PX * flow.amount) / total));
  const bandsOf = (key: string, end: "from" | "to") => flows.map((flow, i) => (flow[end] === key ? (heights[i] ?? 0) : 0));
  const wholes = (parties: Party[], end: "from" | "to") => parties.map(({ key }) => Math.max(least, sum(bandsOf(key, end))));
  const sides = [wholes(lenders, "from"), wholes(borrowers, "to")] as const;
  const lengths = sides.map((side) => sum(side) + GAP_PX * (side.length - 1));
  const height = Math.max(...lengths);
  const placed = (side: number[], length: number) => {
    let top = (height - length) / 2;
    return side.map((each): Placed => {
      const at = { top, height: each };
      top += each + GAP_PX;
      return at;
    });
  };
  const places = { lenders: placed(sides[0], lengths[0] ?? 0), borrowers: placed(sides[1], lengths[1] ?? 0) };
  const ends = (parties: Party[], at: Placed[], end: "from" | "to") =>
    flows.map((flow, i) => {
      const index = parties.findIndex(({ key }) => key === flow[end]);
      const own = bandsOf(flow[end], end);
      const place = at[index] ?? { top: 0, height: 0 };
      return place.top + (place.height - sum(own)) / 2 + sum(own.slice(0, i));
    });
  const from = ends(lenders, places.lenders, "from");
  const to = ends(borrowers, places.borrowers, "to");
  return { height, ...places, bands: heights.map((each, i) => ({ from: from[i] ?? 0, to: to[i] ?? 0, height: each })) };
}
