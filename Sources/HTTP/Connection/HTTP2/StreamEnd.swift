import NIOCore
import NIOHPACK
import NIOHTTP2

/// Marks the last frame of a response as the end of the stream, so that no empty frame has to follow.
///
/// A client such as curl may reset the stream once it has read as many bytes as `Content-Length` announces, before it
/// reads an empty frame. A client with too many resets is disconnected (CVE-2023-44487).
final class StreamEnd: ChannelOutboundHandler {
    typealias OutboundIn = HTTP2Frame.FramePayload
    typealias OutboundOut = HTTP2Frame.FramePayload

    /// The latest frame of the response, which the handler holds back until the next frame comes.
    ///
    /// The latest frame may be the last one, and is then marked as the end of the stream.
    private var held: (frame: HTTP2Frame.FramePayload, promise: EventLoopPromise<Void>?)?

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        let frame = unwrapOutboundIn(data)
        if let held, frame.isBareEnd {
            self.held = nil
            if let promise { held.promise?.futureResult.cascade(to: promise) }
            return context.write(wrapOutboundOut(held.frame.ending()), promise: held.promise ?? promise)
        }
        release(context)
        if frame.mayBeLast { held = (frame, promise) } else { context.write(data, promise: promise) }
    }

    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        release(context)
        context.close(mode: mode, promise: promise)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        held?.promise?.fail(ChannelError.ioOnClosedChannel)
        held = nil
    }

    private func release(_ context: ChannelHandlerContext) {
        guard let held else { return }
        self.held = nil
        context.write(wrapOutboundOut(held.frame), promise: held.promise)
    }
}

extension HTTP2Frame.FramePayload {
    /// Whether the frame is an empty DATA frame that ends the stream.
    fileprivate var isBareEnd: Bool {
        guard case .data(let data) = self else { return false }
        return data.endStream && data.data.readableBytes == 0
    }

    /// Whether the end of the stream may follow this frame; not after an informational response.
    fileprivate var mayBeLast: Bool {
        switch self {
        case .data(let data): !data.endStream
        case .headers(let headers):
            !headers.endStream && headers.headers.first(name: ":status")?.utf8.first != UInt8(ascii: "1")
        default: false
        }
    }

    /// Returns the frame, marked as the end of its stream.
    fileprivate func ending() -> HTTP2Frame.FramePayload {
        switch self {
        case .data(var data):
            data.endStream = true
            return .data(data)
        case .headers(var headers):
            headers.endStream = true
            return .headers(headers)
        default: return self
        }
    }
}
