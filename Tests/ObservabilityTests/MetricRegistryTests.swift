import Glibc
import Metrics
import Testing

@testable import Observability

@Suite("Metrics in Prometheus' text format")
struct MetricRegistryTests {
    private func page(_ families: [MetricFamily], _ body: (MetricRegistry) -> Void) -> String {
        let registry = MetricRegistry(families)
        body(registry)
        return String(decoding: registry.page(), as: UTF8.self)
    }

    /// Returns the lines that hold values.
    private func values(_ page: String) -> [String] {
        page.split(separator: "\n").filter { !$0.hasPrefix("#") }.map(String.init)
    }

    @Test("a page is this text, to the byte")
    func page() {
        let families = [
            MetricFamily("a_total", .counter, "What is counted.", labels: ["who", "how"]),
            MetricFamily("b", .gauge, "How it stands."),
            MetricFamily("c_seconds", .histogram([0.25, 1]), "How long it took.", labels: ["part"]),
        ]
        let text = page(families) { registry in
            let counter = Counter(label: "a_total", dimensions: [("how", "fast"), ("who", "ann")], factory: registry)
            counter.increment(by: 2)
            counter.increment()
            Counter(label: "a_total", dimensions: [("who", "abe"), ("how", "slow")], factory: registry).increment()
            Gauge(label: "b", factory: registry).record(1.5)
            let timer = Metrics.Timer(label: "c_seconds", dimensions: [("part", "x")], factory: registry)
            for milliseconds in [250, 500, 1500] { timer.record(duration: .milliseconds(milliseconds)) }
        }
        #expect(
            text == """
                # HELP a_total What is counted.
                # TYPE a_total counter
                a_total{who="abe",how="slow"} 1
                a_total{who="ann",how="fast"} 3
                # HELP b How it stands.
                # TYPE b gauge
                b 1.5
                # HELP c_seconds How long it took.
                # TYPE c_seconds histogram
                c_seconds_bucket{part="x",le="0.25"} 1
                c_seconds_bucket{part="x",le="1"} 2
                c_seconds_bucket{part="x",le="+Inf"} 3
                c_seconds_sum{part="x"} 2.25
                c_seconds_count{part="x"} 3

                """
        )
        #expect(MetricRegistry.contentType == "text/plain; version=0.0.4; charset=utf-8")
    }

    @Test(
        "what would end a value or a line is escaped",
        arguments: [
            (#"a"b"#, #"a\"b"#), (#"a\b"#, #"a\\b"#), ("a\nb", #"a\nb"#), ("\\\n\"", #"\\\n\""#), ("é→", "é→"),
            ("", ""), ("a\r\nb", "a\r\\nb"), ("\"\u{301}", "\\\"\u{301}"),
        ]
    )
    func escaping(_ value: String, _ written: String) {
        let text = page([MetricFamily("a", .gauge, "A.", labels: ["l"])]) { registry in
            Gauge(label: "a", dimensions: [("l", value)], factory: registry).record(1)
        }
        #expect(values(text).map { Array($0.utf8) } == [Array(#"a{l="\#(written)"} 1"#.utf8)])
    }

    @Test("in what is said of a family a quotation mark is itself")
    func help() {
        let text = page([MetricFamily("a", .gauge, #"a"b\c"# + "\nd")]) { _ in }
        #expect(text.hasPrefix(#"# HELP a a"b\\c\nd"# + "\n"), "\(text)")
    }

    @Test(
        "numbers are written so that Prometheus reads them",
        arguments: [
            (0.0, "0"), (-0.0, "0"), (3, "3"), (0.1, "0.1"), (1e-7, "1e-07"), (1e22, "1e+22"), (.infinity, "+Inf"),
            (-.infinity, "-Inf"), (.nan, "NaN"), (9_007_199_254_740_992, "9007199254740992"),
        ]
    )
    func numbers(_ number: Double, _ written: String) {
        let text = page([MetricFamily("a", .gauge, "A.")]) { Gauge(label: "a", factory: $0).record(number) }
        #expect(values(text) == ["a \(written)"])
    }

    @Test("an observation at a bound counts below it, and one that is no number not at all")
    func bounds() {
        let text = page([MetricFamily("a", .histogram([1, 2]), "A.")]) { registry in
            let recorder = Recorder(label: "a", factory: registry)
            for value in [1.0, 2, 2.000001, -1, .nan] { recorder.record(value) }
        }
        #expect(values(text).prefix(3) == ["a_bucket{le=\"1\"} 2", "a_bucket{le=\"2\"} 3", "a_bucket{le=\"+Inf\"} 4"])
        #expect(values(text).last == "a_count 4")
    }

    @Test("beyond so many sets of labels all others are counted together, whatever they are")
    func bounded() {
        let family = MetricFamily("a_total", .counter, "A.", labels: ["l"], max: 3)
        let text = page([family]) { registry in
            for number in 0..<1000 {
                Counter(label: "a_total", dimensions: [("l", "\(number)")], factory: registry).increment()
            }
            Counter(label: "a_total", dimensions: [("l", "0")], factory: registry).increment()
        }
        #expect(values(text) == [#"a_total{l="0"} 2"#, #"a_total{l="1"} 1"#, #"a_total{l="other"} 998"#])
    }

    @Test("what was not declared, or as another kind, is nowhere; labels that were not declared are left out")
    func undeclared() {
        let family = MetricFamily("a_total", .counter, "A.", labels: ["l", "m"])
        let text = page([family]) { registry in
            Counter(label: "library.requests", factory: registry).increment()
            Gauge(label: "a_total", factory: registry).record(5)
            Metrics.Timer(label: "a_total", factory: registry).recordSeconds(5)
            Counter(label: "a_total", dimensions: [("path", "/x"), ("l", "y")], factory: registry).increment()
        }
        #expect(values(text) == [#"a_total{l="y",m=""} 1"#])
    }

    @Test("what has no labels is there from the start; a counter never falls")
    func beginning() {
        let text = page([MetricFamily("a_total", .counter, "A."), MetricFamily("b", .gauge, "B.")]) { registry in
            Counter(label: "a_total", factory: registry).increment(by: -5)
            let meter = Meter(label: "b", factory: registry)
            meter.increment(by: 3.0)
            meter.decrement()
        }
        #expect(values(text) == ["a_total 0", "b 2"])
    }

    @Test("values that are read now stand beside those that are kept; what does not fit its family is left out")
    func samples() {
        let registry = MetricRegistry([
            MetricFamily("a", .gauge, "A.", labels: ["l"], isRead: true),
            MetricFamily("b_seconds", .histogram([1]), "B.", isRead: true),
        ])
        Gauge(label: "a", dimensions: [("l", "kept")], factory: registry).record(1)
        let page = registry.page(with: [
            MetricSample("a", ["x"], 7), MetricSample("a", [], 8), MetricSample("none", ["x"], 9),
            MetricSample("b_seconds", [], .histogram(counts: [2, 1], sum: 3)),
            MetricSample("b_seconds", [], .histogram(counts: [2], sum: 3)), MetricSample("b_seconds", [], 4),
        ])
        #expect(
            values(String(decoding: page, as: UTF8.self)) == [
                #"a{l="x"} 7"#, #"b_seconds_bucket{le="1"} 2"#, #"b_seconds_bucket{le="+Inf"} 3"#, "b_seconds_sum 3",
                "b_seconds_count 3",
            ]
        )
    }

    @Test("while many count, nothing is lost, and every page is whole")
    func concurrent() async {
        let registry = MetricRegistry([
            MetricFamily("a_total", .counter, "A.", labels: ["l"]), MetricFamily("b", .gauge, "B."),
            MetricFamily("c_seconds", .histogram([1]), "C."),
        ])
        let meter = Meter(label: "b", factory: registry)
        let timer = Metrics.Timer(label: "c_seconds", factory: registry)
        await withTaskGroup(of: Void.self) { group in
            for task in 0..<8 {
                group.addTask {
                    for number in 0..<500 {
                        Counter(label: "a_total", dimensions: [("l", "\(number % 5)")], factory: registry).increment()
                        meter.increment()
                        timer.recordSeconds(task.isMultiple(of: 2) ? 1 : 2)
                    }
                }
            }
            group.addTask {
                for _ in 0..<50 {
                    let values = self.values(String(decoding: registry.page(), as: UTF8.self))
                    let numbers = values.suffix(4).compactMap { Int($0.split(separator: " ").last ?? "") }
                    // The last bucket equals the count, because both are read at one moment.
                    #expect(numbers.count == 4 && numbers[1] == numbers[3], "\(values.suffix(4))")
                }
            }
        }
        let values = values(String(decoding: registry.page(), as: UTF8.self))
        #expect(values.prefix(5) == (0..<5).map { #"a_total{l="\#($0)"} 800"# }[...])
        #expect(
            values.suffix(5) == [
                "b 4000", #"c_seconds_bucket{le="1"} 2000"#, #"c_seconds_bucket{le="+Inf"} 4000"#,
                "c_seconds_sum 6000", "c_seconds_count 4000",
            ]
        )
    }

    @Test("what the system says of this process is there, and is of this process")
    func process() throws {
        let samples = Dictionary(uniqueKeysWithValues: ProcessStatistics.samples().map { ($0.name, $0.value) })
        func number(_ name: String) -> Double {
            guard case .number(let number)? = samples[name] else { return -1 }
            return number
        }
        #expect(number("process_cpu_seconds_total") > 0 && number("process_cpu_seconds_total") < 100_000)
        #expect(number("process_resident_memory_bytes") > 1_000_000)
        #expect(number("process_open_fds") >= 3 && number("process_open_fds") < number("process_max_fds"))
        let now = Double(time(nil))
        #expect(number("process_start_time_seconds") <= now + 2 && number("process_start_time_seconds") > now - 86_400)
    }
}
