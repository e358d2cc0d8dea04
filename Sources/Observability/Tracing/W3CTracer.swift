package import Domain
import Encodings
package import Logging
import NIOConcurrencyHelpers
package import Tracing

/// A tracer that continues clients' traces, starts new traces, and puts the finished spans into a queue for export.
///
/// Without a queue, the tracer records no spans. Then the ids of a client's trace appear in the log alone.
package struct W3CTracer: Tracer {
    private let queue: SpanQueue?
    private let percent: Int
    private let random: RandomSource

    /// Stores the configuration of a tracer.
    ///
    /// - Parameters:
    ///   - queue: The queue for spans; nil to export none.
    ///   - percent: The percentage of traces to record. If a client asks that its trace be recorded, this percentage
    ///     applies, too, since a client may be anyone.
    ///   - random: The random source for ids.
    package init(queue: SpanQueue?, percent: Int, random: RandomSource) {
        self.queue = queue
        self.percent = percent
        self.random = random
    }

    package func startSpan<Instant: TracerInstant>(
        _ operationName: String,
        context: @autoclosure () -> InstrumentationContext,
        ofKind kind: SpanKind,
        at instant: @autoclosure () -> Instant,
        function: String,
        file fileID: String,
        line: UInt
    ) -> TraceSpan {
        var context = context()
        let parent = context[TraceParentKey.self]
        guard let queue, parent?.isSampled ?? isChosen() else {
            return TraceSpan(context: context, record: nil)
        }
        let own = TraceParent(
            traceID: parent?.traceID ?? id(bytes: 16),
            spanID: id(bytes: 8),
            isSampled: true,
            state: parent?.state
        )
        context[TraceParentKey.self] = own
        let span = FinishedSpan(
            position: own,
            parentID: parent?.spanID,
            name: operationName,
            kind: kind,
            began: instant().nanosecondsSinceEpoch
        )
        return TraceSpan(context: context, record: SpanRecord(span, queue: queue))
    }

    package func extract<Carrier, Extract>(
        _ carrier: Carrier,
        into context: inout InstrumentationContext,
        using extractor: Extract
    ) where Extract: Extractor, Extract.Carrier == Carrier {
        guard let text = extractor.extract(key: "traceparent", from: carrier),
            let caller = TraceParent(text, state: extractor.extract(key: "tracestate", from: carrier))
        else { return }
        context[TraceParentKey.self] = TraceParent(
            traceID: caller.traceID,
            spanID: caller.spanID,
            isSampled: caller.isSampled && isChosen(),
            state: caller.state
        )
    }

    /// Decides whether to record a trace.
    ///
    /// The decision is random and does not depend on the id, since a client can choose the id.
    private func isChosen() -> Bool { Int.random(in: 0..<100) < percent }

    /// Adds no trace headers to outgoing requests.
    ///
    /// These requests go to third parties, which must not learn the ids of a trace.
    package func inject<Carrier, Inject>(
        _ context: InstrumentationContext,
        into carrier: inout Carrier,
        using injector: Inject
    ) where Inject: Injector, Inject.Carrier == Carrier {}

    package func forceFlush() {}

    private func id(bytes: Int) -> String {
        Hexadecimal.encode(random.bytes(bytes))
    }

    /// Adds the ids of the current trace and span to every log line that is written within a trace.
    package static let metadataProvider = Logger.MetadataProvider {
        guard let position = InstrumentationContext.current?[TraceParentKey.self] else { return [:] }
        return ["trace_id": "\(position.traceID)", "span_id": "\(position.spanID)"]
    }
}

/// The key under which a context contains the ids of the current trace and span.
enum TraceParentKey: InstrumentationContextKey {
    typealias Value = TraceParent
}

/// A span, in the form in which the measured code can change it.
///
/// If the trace is not recorded, changes of the span have no effect.
package struct TraceSpan: Tracing.Span {
    package let context: InstrumentationContext
    fileprivate let record: SpanRecord?

    package var isRecording: Bool { record != nil }

    package var operationName: String {
        get { record?.span.name ?? "" }
        nonmutating set { record?.change { $0.name = newValue } }
    }

    package var attributes: SpanAttributes {
        get { record?.span.attributes ?? [:] }
        nonmutating set { record?.change { $0.attributes = newValue } }
    }

    package func setStatus(_ status: SpanStatus) { record?.change { $0.hasFailed = status.code == .error } }

    package func recordError<Instant: TracerInstant>(
        _ error: any Error,
        attributes: SpanAttributes,
        at instant: @autoclosure () -> Instant
    ) {
        // The error itself is not recorded: its description may contain a user's input.
        record?.change { $0.hasFailed = true }
    }

    package func addEvent(_ event: SpanEvent) {}
    package func addLink(_ link: SpanLink) {}

    package func end<Instant: TracerInstant>(at instant: @autoclosure () -> Instant) {
        record?.end(at: instant().nanosecondsSinceEpoch)
    }
}

/// The data of a span, as it is exported after the span's end.
struct FinishedSpan: Sendable {
    let position: TraceParent
    let parentID: String?
    var name: String
    let kind: SpanKind
    /// The start time, in Unix nanoseconds.
    let began: UInt64
    var ended: UInt64 = 0
    var attributes: SpanAttributes = [:]
    var hasFailed = false

    init(position: TraceParent, parentID: String?, name: String, kind: SpanKind, began: UInt64) {
        self.position = position
        self.parentID = parentID
        self.name = name
        self.kind = kind
        self.began = began
    }
}

/// Holds the data of a span, which can change until the span ends.
///
/// When the span ends, its data goes to the queue for export.
private final class SpanRecord: Sendable {
    private let queue: SpanQueue
    private let state: NIOLockedValueBox<(span: FinishedSpan, isOver: Bool)>

    init(_ span: FinishedSpan, queue: SpanQueue) {
        self.queue = queue
        state = NIOLockedValueBox((span, false))
    }

    var span: FinishedSpan { state.withLockedValue { $0.span } }

    func change(_ body: (inout FinishedSpan) -> Void) {
        state.withLockedValue { if !$0.isOver { body(&$0.span) } }
    }

    func end(at nanoseconds: UInt64) {
        let finished: FinishedSpan? = state.withLockedValue { state in
            guard !state.isOver else { return nil }
            state.isOver = true
            // The system clock may have been set back meanwhile.
            state.span.ended = max(nanoseconds, state.span.began)
            return state.span
        }
        if let finished { queue.put(finished) }
    }
}
