-- A ledger of schema version 5, as that version of berth wrote it: a preempted job that succeeded in its second attempt,
-- a job that waits, and a request for capacity. No node, no price, no sample.
CREATE TABLE meta(key TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE attempt(
  uid TEXT NOT NULL, attempt INTEGER NOT NULL, namespace TEXT NOT NULL, name TEXT NOT NULL,
  owner_kind TEXT NOT NULL, owner_name TEXT NOT NULL, local_queue TEXT NOT NULL,
  cluster_queue TEXT NOT NULL, priority INTEGER NOT NULL, labels TEXT NOT NULL,
  created INTEGER NOT NULL, queued INTEGER NOT NULL, reserved INTEGER, admitted INTEGER,
  started INTEGER, ended INTEGER, outcome TEXT NOT NULL, reason TEXT NOT NULL,
  message TEXT NOT NULL, preemptor TEXT NOT NULL, user TEXT NOT NULL DEFAULT '', hourly_nano INTEGER,
  image TEXT NOT NULL DEFAULT '', declared INTEGER, checkpoint INTEGER,
  PRIMARY KEY(uid, attempt)) WITHOUT ROWID;
CREATE INDEX attempt_ended ON attempt(ended) WHERE ended IS NOT NULL;
CREATE INDEX attempt_open ON attempt(uid) WHERE outcome='';
CREATE TABLE resource(
  uid TEXT NOT NULL, attempt INTEGER NOT NULL, flavor TEXT NOT NULL, resource TEXT NOT NULL,
  amount INTEGER NOT NULL, PRIMARY KEY(uid, attempt, flavor, resource)) WITHOUT ROWID;
CREATE TABLE wait(
  uid TEXT NOT NULL, attempt INTEGER NOT NULL, since INTEGER NOT NULL, cause TEXT NOT NULL,
  PRIMARY KEY(uid, attempt, since)) WITHOUT ROWID;
CREATE TABLE capacity_request(
  uid TEXT PRIMARY KEY, namespace TEXT NOT NULL, name TEXT NOT NULL, class TEXT NOT NULL,
  workload TEXT NOT NULL, created INTEGER NOT NULL, provisioned INTEGER, ended INTEGER,
  outcome TEXT NOT NULL, reason TEXT NOT NULL, message TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE node_time(
  id TEXT PRIMARY KEY, node TEXT NOT NULL, pool TEXT NOT NULL, class TEXT NOT NULL,
  namespace TEXT NOT NULL, local_queue TEXT NOT NULL, cluster_queue TEXT NOT NULL,
  workload TEXT NOT NULL, uid TEXT NOT NULL, since INTEGER NOT NULL, until INTEGER NOT NULL,
  gpus INTEGER NOT NULL, hourly_nano INTEGER, stands INTEGER NOT NULL) WITHOUT ROWID;
CREATE INDEX node_time_until ON node_time(until);
CREATE TABLE price(
  flavor TEXT NOT NULL, since INTEGER NOT NULL, hourly_nano INTEGER,
  PRIMARY KEY(flavor, since)) WITHOUT ROWID;
CREATE TABLE pool_sample(
  pool TEXT NOT NULL, span INTEGER NOT NULL, since INTEGER NOT NULL,
  seconds INTEGER NOT NULL, ready INTEGER NOT NULL, booting INTEGER NOT NULL,
  idle INTEGER NOT NULL, idle_seconds INTEGER NOT NULL,
  PRIMARY KEY(span, since, pool)) WITHOUT ROWID;
INSERT INTO meta VALUES('last_write', 4700);
INSERT INTO attempt VALUES('a', 1, 'team-a', 'job-a', 'Job', 'a', 'main', 'gpus', 10, 'team=vision,user=ann',
  1000, 1000, 1050, 1060, 1070, 4660, 'Preempted', 'InClusterQueue', 'Preempted to accommodate b', 'b', 'ann', 5,
  'train:2,', 7200, 600);
INSERT INTO attempt VALUES('a', 2, 'team-a', 'job-a', 'Job', 'a', 'main', 'gpus', 10, 'team=vision,user=ann',
  1000, 4660, 4670, 4670, NULL, 4690, 'Succeeded', 'Succeeded', '', '', 'ann', 5, 'train:2,', 7200, 600);
INSERT INTO attempt VALUES('c', 1, 'team-a', 'job-c', 'Job', 'c', 'main', '', 0, '',
  1010, 1010, NULL, NULL, NULL, NULL, '', '', '', '', '', NULL, '', NULL, NULL);
INSERT INTO resource VALUES('a', 1, 'h100', 'nvidia.com/gpu', 1);
INSERT INTO resource VALUES('a', 2, 'h100', 'nvidia.com/gpu', 1);
INSERT INTO resource VALUES('c', 1, '', 'nvidia.com/gpu', 8);
INSERT INTO wait VALUES('a', 1, 1000, 'WaitingForQuota');
INSERT INTO wait VALUES('c', 1, 1010, 'WaitingForQuota');
INSERT INTO capacity_request VALUES('r', 'team-a', 'job-a-dws-1', 'queued', 'job-a', 1050, 1060, NULL, '', '', '');
PRAGMA application_id=1112295250;
PRAGMA user_version=5;
