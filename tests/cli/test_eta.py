"""Goal: `berth eta` says when waiting jobs start, on what it bases that, and why some never do.

Method: the program on a small cluster (snapshots.py), in files and on an API of the test; the numbers follow from runs of
ten minutes each."""

import datetime
import json
import os
import subprocess
import sys
import unittest
import urllib.parse

import yaml

sys.path.insert(0, os.path.dirname(__file__))
import snapshots
from fake_api import FakeApi
from scratch import temporary_folder

BERTH = os.environ["BERTH"]


class EtaTest(unittest.TestCase):
    def setUp(self):
        folder = temporary_folder()
        self.file = os.path.join(folder.__enter__(), "cluster.json")
        self.addCleanup(folder.__exit__, None, None, None)
        snapshots.write(self.file)

    def eta(self, *words, source=None, code=0):
        source = ["--from", self.file] if source is None else source
        answer = subprocess.run([BERTH, "eta", *words, *source], capture_output=True, text=True, timeout=60, check=False,
                                env={"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"})
        self.assertEqual(answer.returncode, code, answer.stdout + answer.stderr)
        return answer.stdout if code == 0 else answer.stderr

    def test_starts_follow_from_past_runs(self):
        view = json.loads(self.eta("--all", "-o", "json"))
        self.assertEqual(view["at"], "2026-11-23T12:00:00Z")
        jobs = {job["name"]: job for job in view["jobs"]}
        self.assertEqual([job["name"] for job in view["jobs"]], ["train-101", "train-102", "small", "big"])
        # train-100 has six of ten minutes left; a woken workload waits for a second.
        self.assertEqual(jobs["train-101"]["startSeconds"]["p50"], 361)
        self.assertEqual(jobs["train-102"]["startSeconds"]["p50"], 962)
        self.assertEqual(jobs["train-101"]["start"]["p50"], "2026-11-23T12:06:01Z")
        self.assertEqual(jobs["train-101"]["chance"], 1)
        self.assertEqual((jobs["train-101"]["run"]["basis"], jobs["train-101"]["run"]["runs"]), ("kind", 20))
        self.assertEqual(view["runTimes"], {"kind": 3, "queue": 2})

    def test_a_whole_cluster_in_a_file(self):
        small = self.eta("--all", "-o", "json")
        with open(self.file, encoding="utf-8") as file:
            listed = json.load(file)
        listed["items"] += [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"c{i}", "namespace": "default"},
                             "data": {"text": "x" * 1_000_000}} for i in range(5)]
        for write in (json.dump, yaml.safe_dump):
            with open(self.file, "w", encoding="utf-8") as file:
                write(listed, file)
            self.assertEqual(self.eta("--all", "-o", "json"), small)

    def test_the_order_of_files_and_objects_plays_no_part(self):
        folder, known = os.path.dirname(self.file), set()
        for seed in range(5):
            known.add(self.eta("--all", "-o", "json", "--from", *snapshots.shuffled(snapshots.crowd(), seed, folder), source=[]))
        self.assertEqual(len(known), 1)
        view = json.loads(known.pop())
        self.assertEqual((len(view["jobs"]), view["at"]), (40, "2026-11-23T12:00:00Z"))

    def test_an_object_that_stands_twice(self):
        objects = list(snapshots.objects())
        snapshots.write(self.file, objects + objects[5:9])  # overlapping lists
        self.assertEqual(len(json.loads(self.eta("--all", "-o", "json"))["jobs"]), 4)
        other = json.loads(json.dumps(objects[-1]))
        other["spec"]["priority"] = 3
        snapshots.write(self.file, objects + [other])
        self.assertIn("Workload default/job-small: the object is twice in the files, with different contents: leave out the older list", self.eta("--all", code=1))

    def test_the_time_of_the_files(self):
        def at(*words):
            return json.loads(self.eta("--all", "-o", "json", *words))["at"]

        self.assertEqual(at("--now", "2026-11-23T13:04:00+01:00"), "2026-11-23T12:04:00Z")
        # Four minutes later two of the ten minutes of train-100 are left.
        (job,) = json.loads(self.eta("train-101", "-o", "json", "--now", "2026-11-23T12:04:00Z"))["jobs"]
        self.assertEqual(job["startSeconds"]["p50"], 121)
        objects = list(snapshots.objects())
        for place, item in (("managedFields", {"manager": "kubectl", "time": "2026-11-23T12:01:00Z"}),
                            ("creationTimestamp", "2026-11-23T12:02:00Z"), ("conditions", "2026-11-23T12:03:00Z"),
                            ("deletionTimestamp", "2026-11-23T12:09:00Z")):
            local_queue = next(each for each in objects if each["kind"] == "LocalQueue")
            if place == "conditions":
                local_queue["status"] = {"conditions": [{"type": "Active", "status": "True", "lastTransitionTime": item}]}
            else:
                local_queue["metadata"][place] = [item] if place == "managedFields" else item
            snapshots.write(self.file, objects)
            minute = {"managedFields": 1, "creationTimestamp": 2}.get(place, 3)
            self.assertEqual(at(), f"2026-11-23T12:0{minute}:00Z", place)
        self.assertIn('--now "noon": write a time such as 2026-01-31T08:00:00Z', self.eta("--all", "--now", "noon", code=1))
        self.assertIn("--now is the time of files: give them with --from, or leave it out",
                      self.eta("--all", "--now", "2026-11-23T12:00:00Z", source=[], code=1))

    def test_the_keys_are_sorted_and_yaml_says_the_same(self):
        text = self.eta("--all", "-o", "json")
        view = json.loads(text)
        self.assertEqual(text, json.dumps(view, indent=2, sort_keys=True) + "\n")
        self.assertEqual(yaml.safe_load(self.eta("--all", "-o", "yaml")), view)

    def test_a_job_without_room_never_starts(self):
        view = json.loads(self.eta("job/big", "-o", "json"))
        (job,) = view["jobs"]
        self.assertEqual((job["startSeconds"]["p50"], job["chance"]), (None, 0))
        self.assertIn("maximum capacity (8)", job["reason"])
        self.assertIn("default/big never starts: couldn't assign flavors", self.eta("job/big"))

    def test_the_screens(self):
        self.assertIn("default/train-101 starts in 6m1s, at 2026-11-23T12:06:01Z; in 8 of 10 cases in ",
                      self.eta("train-101"))
        self.assertIn("it runs for about 10m: 20 runs of its kind", self.eta("job/train-101"))
        screen = self.eta("--all")
        self.assertRegex(screen, r"(?m)^default/train-101 +main +0 +6m1s ")
        self.assertIn("run times of 5 jobs: 3 by kind, 2 by queue", screen)

    def noted(self, minutes_ago, *names, p90="2026-11-23T14:00:00Z"):
        """The cluster with a forecast of the controller on these jobs."""
        objects = list(snapshots.objects())
        for each in objects:
            if each["kind"] == "Workload" and each["metadata"]["uid"] in [f"uid-{name}" for name in names]:
                at = f"2026-11-23T{11 - minutes_ago // 60:02}:{60 - minutes_ago % 60:02}:00Z"
                each["metadata"].setdefault("annotations", {})["berth.dev/eta"] = json.dumps(
                    {"at": at, "p10": "2026-11-23T12:05:00Z", "p50": "2026-11-23T12:10:00Z", "p90": p90})
        snapshots.write(self.file, objects)
        return objects

    def test_fresh_forecasts_of_the_controller_are_told(self):
        self.noted(3, "train-101", "small")
        view = json.loads(self.eta("--all", "-o", "json"))
        jobs = {job["name"]: job for job in view["jobs"]}
        self.assertEqual([job["name"] for job in view["jobs"]], ["small", "train-101", "big", "train-102"])
        self.assertEqual(jobs["train-101"]["startSeconds"], {"p10": 300, "p50": 600, "p90": 7200})
        self.assertEqual((jobs["train-101"]["forecastAt"], jobs["train-101"]["chance"]), ("2026-11-23T11:57:00Z", None))
        self.assertEqual((view["draws"], jobs["train-102"]["startSeconds"]["p50"], jobs["train-102"]["forecastAt"]),
                         (0, None, None))
        self.assertIn("no forecast yet", jobs["train-102"]["reason"])
        screen = self.eta("--all")
        self.assertIn("based on: 2 forecasts of the controller, up to 3m old (--draw makes new ones)", screen)
        self.assertRegex(screen, r"(?m)^default/train-101 +main +0 +10m ")
        self.assertRegex(screen, r"(?m)^default/train-102 +main +0 +- +- +no forecast yet")
        self.assertIn("default/train-101 starts in 10m, at 2026-11-23T12:10:00Z", self.eta("job/train-101"))
        # A job without one is drawn, and so are all where the flags say so.
        self.assertIn("it runs for about 10m", self.eta("job/train-102"))
        for words in (["--draw"], ["--draws", "20"], ["--seed", "1"]):
            drawn = {job["name"]: job for job in json.loads(self.eta("--all", "-o", "json", *words))["jobs"]}
            self.assertEqual(drawn["train-101"]["startSeconds"]["p50"], 361, words)
            self.assertIsNone(drawn["train-101"]["forecastAt"])

    def test_old_forecasts_are_not_told(self):
        self.noted(50, "train-101", "train-102", "small", "big")
        view = json.loads(self.eta("--all", "-o", "json"))
        self.assertGreater(view["draws"], 0)
        self.assertEqual(view["jobs"][0]["startSeconds"]["p50"], 361)

    def test_a_forecast_without_p90_has_the_reason(self):
        self.noted(3, "train-101", p90=None)
        (job,) = json.loads(self.eta("job/train-101", "-o", "json"))["jobs"]
        self.assertEqual((job["startSeconds"]["p50"], job["startSeconds"]["p90"]), (600, None))
        self.assertIn("in 8 of 10 cases in 5m to never", self.eta("job/train-101"))

    def test_the_api_is_asked_for_the_forecasts_first(self):
        api = FakeApi()
        self.addCleanup(api.close)
        objects = self.noted(3, "train-101", "train-102", "small", "big")
        snapshots.serve(api, objects)
        view = json.loads(self.eta("--all", "-o", "json", source=["--kubeconfig", api.kubeconfig]))
        self.assertGreater(view["draws"], 0)  # by the real time they are old
        self.assertEqual(len(self.lists_of_workloads(api)), 1)
        api.asked.clear()
        self.eta("job/train-101", source=["--kubeconfig", api.kubeconfig])
        own, others = self.lists_of_workloads(api)
        self.assertIn("/namespaces/default/workloads", own)
        self.assertIn("fieldSelector=metadata.namespace%21%3Ddefault", others)

    def test_fresh_forecasts_on_the_api_are_told(self):
        """Of one list of Workloads, and nothing beside it but the queues."""
        api = FakeApi()
        self.addCleanup(api.close)
        now = datetime.datetime.now(datetime.timezone.utc)

        def at(minutes):
            return (now + datetime.timedelta(minutes=minutes)).strftime("%Y-%m-%dT%H:%M:%SZ")

        objects = list(snapshots.objects())
        for each in objects:
            if each["kind"] == "Workload" and each["metadata"]["uid"] in ("uid-train-101", "uid-small"):
                each["metadata"].setdefault("annotations", {})["berth.dev/eta"] = json.dumps(
                    {"at": at(-3), "p10": at(5), "p50": at(10), "p90": at(60)})
        snapshots.serve(api, objects)
        view = json.loads(self.eta("--all", "-o", "json", source=["--kubeconfig", api.kubeconfig]))
        jobs = {job["name"]: job for job in view["jobs"]}
        self.assertEqual((view["draws"], jobs["train-101"]["forecastAt"]), (0, at(-3)))
        self.assertEqual((jobs["train-101"]["start"]["p50"], jobs["train-101"]["clusterQueue"]), (at(10), "team"))
        self.assertIsNone(jobs["train-102"]["forecastAt"])
        self.assertEqual(sorted(urllib.parse.urlsplit(path).path for path in api.asked),
                         [f"{snapshots.KUEUE}/localqueues", f"{snapshots.KUEUE}/workloads"])

    @staticmethod
    def lists_of_workloads(api):
        return [path for path in api.asked if urllib.parse.urlsplit(path).path.endswith("/workloads")]

    def test_a_seed_gives_one_answer(self):
        # Without past runs the run times are drawn from a prior.
        snapshots.write(self.file, [each for each in snapshots.objects() if not snapshots.is_finished(each)])
        once = self.eta("--all", "-o", "json", "--seed", "7")
        self.assertEqual(self.eta("--all", "-o", "json", "--seed", "7"), once)
        self.assertNotEqual(json.loads(self.eta("--all", "-o", "json", "--seed", "8"))["jobs"],
                            json.loads(once)["jobs"])

    def test_the_api_is_read_and_nothing_is_written(self):
        api = FakeApi()
        self.addCleanup(api.close)
        snapshots.serve(api)
        view = json.loads(self.eta("--all", "-o", "json", source=["--kubeconfig", api.kubeconfig]))
        self.assertEqual({job["name"] for job in view["jobs"]}, {"train-101", "train-102", "small", "big"})
        self.assertTrue(any(path.startswith("/apis/kueue.x-k8s.io/v1beta2/workloads") for path in api.asked))

    def test_what_was_told_is_kept_and_corrects(self):
        scores = self.file + ".scores"
        told = json.loads(self.eta("--all", "-o", "json", "--scores", scores))
        self.assertEqual(told["scores"], {"starts": 0, "withinP50": 0.0, "withinP90": 0.0, "corrects": False})
        with open(scores, encoding="utf-8") as file:
            lines = [json.loads(line) for line in file]
        self.assertEqual({line["uid"]: (line["p50"], line["told50"]) for line in lines}, {
            "uid-train-101": (361, 361), "uid-train-102": (962, 962), "uid-small": (1563, 1563)})
        # Forty forecasts of five minutes each, one a day, came ten minutes late.
        with open(scores, "a", encoding="utf-8") as file:
            for number in range(40):
                file.write(json.dumps({"uid": f"past-{number}", "at": 86400 * number, "p10": 300, "p50": 300, "p90": 300,
                                       "told50": 300, "told90": 300, "wait": 900}) + "\n")
        late = json.loads(self.eta("--all", "-o", "json", "--scores", scores))
        self.assertEqual(late["scores"], {"starts": 40, "withinP50": 0.0, "withinP90": 0.0, "corrects": True})
        self.assertGreater(late["jobs"][0]["startSeconds"]["p50"], 361 + 300)
        self.assertIn("of the forecasts of 40 started jobs, 0 of 100 were within p50", self.eta("--all", "--scores", scores))
        with open(scores, "a", encoding="utf-8") as file:
            file.write("nonsense\n")
        self.assertIn("line 44 is no forecast", self.eta("--all", "--scores", scores, code=1))

    def test_forecasts_of_the_controller_are_judged(self):
        self.assertIsNone(json.loads(self.eta("--all", "-o", "json"))["controllerScores"])
        objects = list(snapshots.objects())
        running = next(each for each in objects if each["kind"] == "Workload" and not snapshots.is_finished(each) and
                       any(mark["type"] == "Admitted" for mark in each["status"].get("conditions", [])))
        started = next(mark for mark in running["status"]["conditions"] if mark["type"] == "Admitted")["lastTransitionTime"]

        def judged(note):
            running["metadata"].setdefault("annotations", {})["berth.dev/eta"] = json.dumps(note)
            snapshots.write(self.file, objects)
            return json.loads(self.eta("--all", "-o", "json"))["controllerScores"]

        early, late = "2026-11-23T00:00:00Z", "2026-11-23T23:00:00Z"
        self.assertLess(early, started)
        last = {"at": early, "p10": early, "p50": early, "p90": late}
        self.assertEqual(judged(last), {"starts": 1, "withinP50": 0, "withinP90": 1})
        # The first forecast of the wait counts.
        self.assertEqual(judged({**last, "first": {"at": early, "p10": early, "p50": late, "p90": late}}),
                         {"starts": 1, "withinP50": 1, "withinP90": 1})
        self.assertIn("of the controller's first forecasts for 1 started job, 100 of 100 were within p50, 100 of 100 within p90",
                      self.eta("--all"))
        # A forecast of the next wait is not of this start.
        self.assertIsNone(judged({**last, "at": late, "p10": late, "p50": late}))

    def test_starts_that_the_controller_foretold_correct_what_is_drawn(self):
        objects = list(snapshots.objects())
        before = json.loads(self.eta("--all", "-o", "json"))
        self.assertEqual(before["corrected"], 0)
        # Forty jobs started ten minutes after the median of their forecasts.
        for number in range(40):
            start = 1000 + 600 * number
            past = snapshots.admitted(f"past-{number}", 8, start, start + 600)
            said = snapshots.time(start - 600)
            past["metadata"]["annotations"] = {"berth.dev/eta": json.dumps(
                {"at": snapshots.time(start - 900), "p10": said, "p50": said, "p90": said})}
            objects.append(past)
        snapshots.write(self.file, objects)
        after = json.loads(self.eta("--all", "-o", "json"))
        self.assertEqual(after["corrected"], 3)
        medians = [{job["name"]: job["startSeconds"]["p50"] for job in view["jobs"] if job["startSeconds"]} for view in (before, after)]
        # Starts of one day move a forecast a sixth of the way.
        self.assertGreater(medians[1]["train-101"], medians[0]["train-101"] + 100)
        self.assertIn("draws, corrected by earlier starts; run times", self.eta("--all"))

    @staticmethod
    def with_racks(gpus):
        """The cluster on two nodes of one rack with so many GPUs each; train-101 asks for a rack."""
        made = []
        for each in snapshots.objects():
            if each["kind"] == "ResourceFlavor":
                each["spec"] = {"topologyName": "racks"}
            if each["metadata"]["name"] == "job-train-101":
                each["spec"]["podSets"][0]["topologyRequest"] = {"required": "rack"}
            made.append(each)
        made.append({"apiVersion": snapshots.VERSION, "kind": "Topology", "metadata": {"name": "racks"},
                     "spec": {"levels": [{"nodeLabel": "rack"}, {"nodeLabel": "kubernetes.io/hostname"}]}})
        for name in ("n1", "n2"):
            made.append({"apiVersion": "v1", "kind": "Node", "spec": {},
                         "metadata": {"name": name, "labels": {"rack": "r1", "kubernetes.io/hostname": name}},
                         "status": {"allocatable": {snapshots.GPU: str(gpus), "pods": "110"},
                                    "conditions": [{"type": "Ready", "status": "True"}]}})
        return made

    def test_topologies_decide(self):
        for gpus, median in ((8, 361), (4, None)):
            snapshots.write(self.file, self.with_racks(gpus))
            view = json.loads(self.eta("--all", "-o", "json"))
            job = next(job for job in view["jobs"] if job["name"] == "train-101")
            self.assertEqual(job["startSeconds"]["p50"], median, gpus)
            self.assertEqual(view["leftOut"], [])
        self.assertIn("topology", job["reason"])
        # Without nodes quota decides, and the output says so.
        snapshots.write(self.file, [each for each in self.with_racks(4) if each["kind"] != "Node"])
        view = json.loads(self.eta("--all", "-o", "json"))
        self.assertEqual(view["leftOut"], ["ResourceFlavor gpu: its topology is left out, quota alone decides"])
        self.assertEqual(next(job for job in view["jobs"] if job["name"] == "train-101")["startSeconds"]["p50"], 361)

    def test_nodes_are_read_where_a_flavor_names_a_topology(self):
        api = FakeApi()
        self.addCleanup(api.close)
        snapshots.serve(api)
        self.eta("--all", source=["--kubeconfig", api.kubeconfig])
        self.assertFalse([path for path in api.asked if "/nodes" in path or "/pods" in path or "/topologies" in path])
        api = FakeApi()
        self.addCleanup(api.close)
        snapshots.serve(api, [each for each in self.with_racks(8) if each["kind"] in snapshots.PLURALS])
        self.eta("--all", source=["--kubeconfig", api.kubeconfig])
        asked = {path.replace("?limit=1000", "").replace("&limit=1000", "") for path in api.asked if "/nodes" in path or "/pods" in path or "/topologies" in path}
        self.assertEqual(asked, {f"{snapshots.KUEUE}/topologies", "/api/v1/nodes", "/api/v1/pods?fieldSelector=spec.nodeName%21%3D"})

    def test_what_cannot_be_answered(self):
        self.assertIn("no job \"job/none\" waits", self.eta("job/none", code=1))
        self.assertIn("default/train-100 runs already", self.eta("job/train-100", code=1))
        self.assertIn("or --all", self.eta(code=2))
        self.assertIn("or --all", self.eta("job/big", "--all", code=2))
        with open(self.file, "w", encoding="utf-8") as file:
            file.write("{}")
        self.assertIn("no ClusterQueue", self.eta("--all", code=1))

    def test_an_object_that_does_not_decode_is_named(self):
        broken = snapshots.workload("odd", 1, 0)
        broken["spec"]["podSets"] = 3
        snapshots.write(self.file, [*snapshots.objects(), broken])
        self.assertIn("Workload job-odd", self.eta("--all", code=1))


if __name__ == "__main__":
    unittest.main()
