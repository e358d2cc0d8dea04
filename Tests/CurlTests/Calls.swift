import Curl
import Foundation
import Glibc

/// Returns a request to a test server, with generous limits by default.
func request(
    _ method: HTTPRequest.Method = .get,
    _ url: String,
    headers: [(name: String, value: String)] = [],
    body: [UInt8]? = nil,
    timeout: Duration = .seconds(20),
    connectTimeout: Duration = .seconds(10),
    maxReplyBytes: Int = 262_144,
    reusesConnection: Bool = true
) throws -> HTTPRequest {
    try HTTPRequest(
        method: method,
        url: HTTPURL(url),
        headers: headers,
        body: body,
        timeout: timeout,
        connectTimeout: connectTimeout,
        maxReplyBytes: maxReplyBytes,
        reusesConnection: reusesConnection
    )
}

extension ScriptedServer {
    func url(_ target: String = "/") -> String { "http://127.0.0.1:\(port)\(target)" }
}

extension CurlClient {
    /// Sends a request and returns its response or error as a value to compare.
    func outcome(of request: HTTPRequest) async -> Result<HTTPReply, CurlError> {
        do throws(CurlError) {
            return .success(try await send(request))
        } catch {
            return .failure(error)
        }
    }

    /// Sends a request and returns its error; nil when there is a response.
    func failure(of request: HTTPRequest) async -> CurlError? {
        if case .failure(let error) = await outcome(of: request) { error } else { nil }
    }
}

/// Waits until `condition` holds, at most `limit`, and returns whether it held.
func eventually(within limit: Duration = .seconds(60), _ condition: () async -> Bool) async -> Bool {
    let end = ContinuousClock.now + limit
    while ContinuousClock.now < end {
        if await condition() { return true }
        try? await Task.sleep(for: .milliseconds(5))
    }
    return await condition()
}

/// Raises the soft limit of descriptors to the hard one, for tests with thousands of sockets, and returns it.
func raiseDescriptorLimit() -> Int {
    var limit = rlimit()
    getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    limit.rlim_cur = limit.rlim_max
    setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    return Int(clamping: limit.rlim_cur)
}

/// Runs a blocking function on a thread of its own.
///
/// The concurrency pool has only as many threads as there are processors.
func onThread<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
        Thread.detachNewThread { continuation.resume(with: Result { try body() }) }
    }
}
