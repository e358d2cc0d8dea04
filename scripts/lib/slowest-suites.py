"""Prints the suites whose tests took longest together, of Swift Testing's event streams that are named: seconds, tests
and name, a suite a line.

What a process that crashed has left, a line that is cut short or an end without a start, counts for nothing. A test
counts from the start to the end of its cases, not while it waits for its turn. Tests that ran beside each other
count each.
"""

import collections
import itertools
import json
import sys

COUNT = 20

seconds, tests = collections.Counter(), collections.defaultdict(set)
for path in sys.argv[1:]:
    began = collections.defaultdict(list)
    with open(path, encoding="utf-8", errors="replace") as stream:
        for line in stream:
            try:
                event = json.loads(line)["payload"]
            except json.JSONDecodeError:
                continue
            test = event.get("testID")
            if event["kind"] == "testCaseStarted":
                began[test].append(event["instant"]["absolute"])
            elif event["kind"] == "testCaseEnded" and began[test]:
                suite = "/".join(itertools.takewhile(lambda part: "(" not in part, test.split("/")))
                seconds[suite] += event["instant"]["absolute"] - began[test].pop(0)
                tests[suite].add(test)
for suite, time in seconds.most_common(COUNT):
    print(f"{time:7.1f} s {len(tests[suite]):5} tests  {suite}")
