// What somebody should look at, each with what to do.
import type { ComponentChildren } from "preact";
import type { Alert } from "./alerts";
import { plural } from "./format";
import { Icon } from "./icons";
import { Age, Panel, When } from "./parts";
import { Link, paths } from "./router";

function told(alert: Alert): ComponentChildren {
  switch (alert.kind) {
    case "inactive":
      return (
        <>
          <Link to={paths.queue(alert.queue)}>{alert.queue}</Link> admits nothing: {alert.reason}
        </>
      );
    case "unserved":
      return (
        <>
          <Link to={paths.capacity({ state: "Pending", class: alert.class })}>{plural(alert.count, "job")}</Link> {alert.count === 1 ? "waits" : "wait"} for a class that nobody serves:{" "}
          {alert.class}, since <When at={alert.since} />.
        </>
      );
    case "resting":
      return (
        <>
          Class {alert.class} is not asked until <When at={alert.until} />
          {alert.reason && <>: {alert.reason}</>}.
        </>
      );
    case "stopped":
      return (
        <>
          <Link to={paths.queue(alert.queue)}>{alert.queue}</Link> is stopped ({alert.policy}) while {plural(alert.waiting, "workload")} {alert.waiting === 1 ? "waits" : "wait"} in it.
        </>
      );
    case "misconfigured":
      return (
        <>
          <Link to={paths.workloads({ cause: "misconfigured" })}>{plural(alert.count, "workload")}</Link> cannot run until somebody changes an object.
        </>
      );
    case "never":
      return (
        <>
          <Link to={paths.workloads({ cause: "too large" })}>{plural(alert.count, "workload")}</Link> {alert.count === 1 ? "asks" : "ask"} for more than the queue can ever give.
        </>
      );
    case "failed":
      return (
        <>
          <Link to={paths.capacity({ state: "Failed" })}>{plural(alert.count, "request")}</Link> for capacity failed.
        </>
      );
    case "long":
      return (
        <>
          <Link to={paths.workload(alert.workload)}>{alert.name}</Link> has waited for <Age since={alert.since} />, longer than all others.
        </>
      );
  }
}

export function AlertList({ alerts }: { alerts: Alert[] }) {
  if (alerts.length === 0) return null;
  return (
    <Panel title="To look at">
      <ul class="alerts">
        {alerts.map((alert) => (
          <li key={alert.key} class={`alert-${alert.severity}`}>
            <Icon name={alert.severity} />
            <div>{told(alert)}</div>
            <p>{alert.remedy}</p>
          </li>
        ))}
      </ul>
    </Panel>
  );
}
