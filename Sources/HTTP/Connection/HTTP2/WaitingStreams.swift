import NIOCore
import NIOHPACK
import NIOHTTP2

/// Keeps the requests of an HTTP/2 connection until they are complete, and creates their streams only then.
///
/// A stream with its channel and its task takes thousands of times as much memory as the headers that open it. So while
/// a request waits for its body, the handler keeps only its fields and the received bytes. Two kinds of requests get
/// their stream at once: those with a longer body than ``WaitingRequest`` keeps, and those whose client waits for 100
/// Continue. Until their end arrives, they count in ``ConnectionBudget`` like requests that are being handled.
///
/// The budget also counts all streams of a connection but one, until they end. When the budget is used up, the latest
/// requests are refused. Nothing was done for a refused request, so the client may send it again (RFC 9113 §8.7). After
/// too many refused requests, the service sends ENHANCE_YOUR_CALM and closes the connection.
final class WaitingStreams: ChannelInboundHandler {
    typealias InboundIn = HTTP2Frame
    typealias InboundOut = HTTP2Frame
    typealias OutboundOut = HTTP2Frame

    /// The memory in bytes that the HTTP/2 library needs for a stream, apart from its header fields.
    private static let streamCost = 2048
    private static let fieldCost = 64
    /// The maximum number of refused requests; above that, the connection is closed.
    ///
    /// Each accepted request lowers the count by one. The maximum is small, since the HTTP/2 library keeps some 100 KiB
    /// for a connection whose streams were all refused.
    private static let maxRefusals = 20

    private struct Arrival {
        enum State { case waiting, passed, refused }

        var state = State.waiting
        let deadline: NIODeadline
        var head: HTTP2Frame?
        var body: ByteBuffer?
        /// NIO's event that the stream was created, kept until the later handlers get the stream.
        var created: NIOHTTP2StreamCreatedEvent?
        /// NIO's latest event about the stream's flow-control window, kept until the later handlers get the stream.
        var window: NIOHTTP2WindowUpdatedEvent?
        var cost: Int
    }

    private let limit: TimeAmount
    private let gate: HTTP2Gate
    private let end: () -> Void
    private let share: ConnectionShare
    private var charge: ConnectionCharge
    /// The requests whose end has not arrived yet, by stream.
    private var arrivals: [HTTP2StreamID: Arrival] = [:]
    /// The ids of the streams whose requests were passed on to later handlers.
    ///
    /// The later handlers know no other streams.
    private var made: Set<HTTP2StreamID> = []
    /// The number of bytes that count as memory of the connection's incomplete requests.
    private var cost = 0
    private var refusals = 0
    /// How many bytes of `cost` count in ``ConnectionBudget``: all beyond the first few kilobytes.
    private var counted: Int { max(cost - ConnectionBudget.uncounted, 0) }
    /// Whether streams were refused since the last flush of the connection's output.
    private var hasRefused = false
    /// Whether the client has closed its side of the connection.
    private var isInputOver = false
    private var timer: Scheduled<Void>?

    /// - Parameters:
    ///   - limit: How long a request may take to arrive.
    ///   - share: Counts the resources that the connection uses.
    ///   - gate: The handler that closes the connection.
    ///   - end: Called when no further stream will come.
    init(limit: TimeAmount, share: ConnectionShare, gate: HTTP2Gate, end: @escaping () -> Void) {
        self.limit = limit
        self.gate = gate
        self.end = end
        self.share = share
        charge = ConnectionCharge(share)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let frame = unwrapInboundIn(data)
        guard let arrival = arrivals[frame.streamID] else {
            guard case .headers(let headers) = frame.payload else { return context.fireChannelRead(data) }
            guard headers.endStream else { return begin(frame, headers, context) }
            guard makeStream(frame.streamID, context) else { return }
            return context.fireChannelRead(data)
        }
        switch (arrival.state, frame.payload) {
        case (_, .priority): context.fireChannelRead(data)
        case (.passed, let payload):
            if payload.endsStream { settle(frame.streamID) }
            context.fireChannelRead(data)
        case (.waiting, .data(let data)): add(data, of: frame, context)
        case (.waiting, .headers):
            // Trailers, which end the request.
            pass(frame.streamID, context)
            settle(frame.streamID)
            if made.contains(frame.streamID) { context.fireChannelRead(data) }
        // Later handlers do not know the stream.
        case (.waiting, _), (.refused, _): break
        }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        switch event {
        case let event as NIOHTTP2StreamCreatedEvent where !made.contains(event.streamID):
            arrivals[event.streamID]?.created = event
        case let event as NIOHTTP2WindowUpdatedEvent
        where event.streamID != .rootStream && !made.contains(event.streamID):
            if event.inboundWindowSize != nil { arrivals[event.streamID]?.window = event }
        case let closed as StreamClosedEvent:
            settle(closed.streamID)
            if made.remove(closed.streamID) != nil {
                share.end()
                context.fireUserInboundEventTriggered(event)
            }
            leave()
        case ChannelEvent.inputClosed:
            isInputOver = true
            // Incomplete requests will never be complete.
            for (stream, arrival) in arrivals where arrival.state == .waiting { settle(stream) }
            _ = charge.set(counted)
            context.fireUserInboundEventTriggered(event)
            gate.leave()
            leave()
        default: context.fireUserInboundEventTriggered(event)
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        fit(context)
        tell(context)
        watch(context)
        context.fireChannelReadComplete()
    }

    func channelInactive(context: ChannelHandlerContext) {
        stop()
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) { stop() }

    // MARK: Arrival

    private func begin(
        _ frame: HTTP2Frame,
        _ headers: HTTP2Frame.FramePayload.Headers,
        _ context: ChannelHandlerContext
    ) {
        let fields = headers.headers.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count + Self.fieldCost }
        arrivals[frame.streamID] = Arrival(deadline: .now() + limit, head: frame, cost: Self.streamCost + fields)
        cost += Self.streamCost + fields
        let length = headers.headers.first(name: "content-length")
        if WaitingRequest.isNotKept(length: length, expects: headers.headers.contains(name: "expect")) {
            pass(frame.streamID, context)
        }
    }

    private func add(_ data: HTTP2Frame.FramePayload.Data, of frame: HTTP2Frame, _ context: ChannelHandlerContext) {
        guard case .byteBuffer(let bytes) = data.data, var arrival = arrivals[frame.streamID] else { return }
        // A copy of the bytes, since a slice of the read buffer would keep the whole buffer.
        var body = arrival.body.take() ?? ByteBuffer()
        body.writeImmutableBuffer(bytes)
        arrival.body = body
        arrival.cost += bytes.readableBytes
        cost += bytes.readableBytes
        arrivals[frame.streamID] = arrival
        if data.endStream {
            pass(frame.streamID, context, ends: true)
            settle(frame.streamID)
        } else if body.readableBytes > WaitingRequest.maxBytes {
            pass(frame.streamID, context)
        }
    }

    /// Passes the received part of a request on to later handlers, which creates the request's stream.
    private func pass(_ stream: HTTP2StreamID, _ context: ChannelHandlerContext, ends: Bool = false) {
        guard var arrival = arrivals[stream], let head = arrival.head else { return }
        guard makeStream(stream, context) else { return }
        let (body, created, window) = (arrival.body, arrival.created, arrival.window)
        (arrival.state, arrival.head, arrival.body) = (.passed, nil, nil)
        cost += ConnectionBudget.request - arrival.cost
        arrival.cost = ConnectionBudget.request
        arrivals[stream] = arrival
        context.fireChannelRead(wrapInboundOut(head))
        if let created { context.fireUserInboundEventTriggered(created) }
        if ends || body != nil {
            let data = HTTP2Frame.FramePayload.Data(data: .byteBuffer(body ?? ByteBuffer()), endStream: ends)
            context.fireChannelRead(wrapInboundOut(HTTP2Frame(streamID: stream, payload: .data(data))))
        }
        if let window { context.fireUserInboundEventTriggered(window) }
    }

    /// Counts a new stream, or refuses it if the maximum number of requests is reached.
    ///
    /// Returns whether the stream was counted.
    private func makeStream(_ stream: HTTP2StreamID, _ context: ChannelHandlerContext) -> Bool {
        guard share.begin() else {
            // Later frames of the stream are dropped.
            if arrivals[stream] == nil { arrivals[stream] = Arrival(deadline: .now() + limit, cost: 0) }
            refuse(stream, context)
            return false
        }
        refusals = max(refusals - 1, 0)
        made.insert(stream)
        return true
    }

    /// Removes a request from the incomplete ones, because it is complete or its stream has ended.
    private func settle(_ stream: HTTP2StreamID) {
        guard let arrival = arrivals.removeValue(forKey: stream) else { return }
        cost -= arrival.cost
        // A new dictionary, since the old one keeps its storage, which many requests may have made large.
        if arrivals.isEmpty { arrivals = [:] }
    }

    // MARK: Ends

    /// Closes the connection if the client has closed its side and all responses have been sent.
    ///
    /// Most such clients are gone, and nothing else closes their connections.
    private func leave() {
        if isInputOver, made.isEmpty { gate.end() }
    }

    /// Counts the memory of the incomplete requests in ``ConnectionBudget``.
    ///
    /// If too few bytes are free, refuses the latest requests until the remaining ones fit.
    private func fit(_ context: ChannelHandlerContext) {
        guard counted != charge.bytes, !charge.set(counted) else { return }
        for stream in arrivals.filter({ $0.value.cost > 0 }).keys.sorted(by: >) {
            refuse(stream, context)
            if charge.set(counted) { break }
        }
    }

    private func refuse(_ stream: HTTP2StreamID, _ context: ChannelHandlerContext) {
        refusals += 1
        hasRefused = true
        reset(stream, .refusedStream, context)
    }

    /// Sends the waiting frames that refuse requests, and closes the connection if too many requests were refused.
    private func tell(_ context: ChannelHandlerContext) {
        guard hasRefused else { return }
        hasRefused = false
        context.flush()
        if refusals > Self.maxRefusals { gate.calm() }
    }

    private func reset(_ stream: HTTP2StreamID, _ reason: HTTP2ErrorCode, _ context: ChannelHandlerContext) {
        guard var arrival = arrivals[stream] else { return }
        cost -= arrival.cost
        arrival.cost = 0
        let hasPassed = arrival.state == .passed
        if !hasPassed { (arrival.state, arrival.head, arrival.body) = (.refused, nil, nil) }
        arrivals[stream] = arrival
        // REFUSED_STREAM means that nothing was done. For a request that is being handled this is untrue.
        let reason = hasPassed && reason == .refusedStream ? .enhanceYourCalm : reason
        context.write(wrapOutboundOut(HTTP2Frame(streamID: stream, payload: .rstStream(reason))), promise: nil)
    }

    /// Starts the timer that limits how long requests take to arrive; one timer serves all requests of the connection.
    ///
    /// A request that arrives in one piece starts no timer.
    private func watch(_ context: ChannelHandlerContext) {
        guard timer == nil else { return }
        guard let first = arrivals.values.lazy.filter({ $0.cost > 0 }).map(\.deadline).min() else { return }
        timer = context.eventLoop.assumeIsolated().scheduleTask(deadline: first) {
            self.timer = nil
            let now = NIODeadline.now()
            for (stream, arrival) in self.arrivals where arrival.cost > 0 && arrival.deadline <= now {
                self.reset(stream, .cancel, context)
            }
            self.fit(context)
            context.flush()
            self.tell(context)
            self.watch(context)
        }
    }

    private func stop() {
        timer?.cancel()
        timer = nil
        arrivals = [:]
        cost = 0
        end()
    }
}

extension HTTP2Frame.FramePayload {
    fileprivate var endsStream: Bool {
        switch self {
        case .data(let data): data.endStream
        case .headers(let headers): headers.endStream
        default: false
        }
    }
}
