"""Prints the suites whose tests took longest together, of the reports of JUnit's form that are named: seconds, tests
and name, a suite a line. A suite's tests that ran beside each other count each."""

import collections
import sys
import xml.etree.ElementTree as ElementTree

COUNT = 20

seconds, tests = collections.Counter(), collections.Counter()
for path in sys.argv[1:]:
    for case in ElementTree.parse(path).iter("testcase"):
        seconds[case.get("classname")] += float(case.get("time"))
        tests[case.get("classname")] += 1
for name, time in seconds.most_common(COUNT):
    print(f"{time:7.1f} s {tests[name]:5} tests  {name}")
