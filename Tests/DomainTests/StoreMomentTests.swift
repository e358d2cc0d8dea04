import Domain
import Testing

@Suite("Moments of the database")
struct StoreMomentTests {
    @Test("an earlier moment is so long before, or a microsecond more, across the bounds of seconds")
    func earlier() {
        let cases: [(StoreMoment, Duration, Int64)] = [
            (StoreMoment(seconds: 10, microseconds: 500), .microseconds(100), 10_000_399),
            (StoreMoment(seconds: 10), .zero, 9_999_999),
            (StoreMoment(seconds: 10, microseconds: 5), .microseconds(5), 9_999_999),
            (StoreMoment(seconds: 10, microseconds: 5), .seconds(3), 7_000_004),
            (StoreMoment(seconds: 10), .microseconds(999_999), 9_000_000),
            (StoreMoment(seconds: 10, microseconds: 1), .milliseconds(2500), 7_500_000),
        ]
        for (moment, duration, expected) in cases {
            #expect(moment.earlier(by: duration).sinceEpoch == expected, "\(moment) \(duration)")
        }
        #expect(StoreMoment(seconds: 10, microseconds: 7).earlierBySecond.sinceEpoch == 9_000_007)
        #expect(StoreMoment(seconds: .max).sinceEpoch == .max - 1)
    }
}
