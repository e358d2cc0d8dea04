internal import CLibCurl

/// An easy handle of libcurl's and the call that it is used for.
///
/// Only the thread of the client touches it; libcurl's callbacks run on that thread.
protocol Transfer: AnyObject {
    var handle: UnsafeMutableRawPointer { get }

    /// Gives the caller the outcome that libcurl's `code` stands for, and forgets the call.
    func finish(_ code: CURLcode)

    /// Gives the caller an outcome of the client's, and forgets the call.
    func finish(_ error: CurlError)

    /// How far a call has come whose time is up; nil for one that still has some.
    func overduePhase(at now: ContinuousClock.Instant) -> CurlError.TimeoutPhase?
}

/// Options, each by a function for its type of argument; they return whether libcurl took the value.
extension Transfer {
    func set(_ option: CURLoption, _ value: Int) -> Bool {
        curl_setopt_long(handle, option, value) == CURLE_OK
    }

    func set(_ option: CURLoption, _ value: String?) -> Bool {
        curl_setopt_string(handle, option, value) == CURLE_OK
    }

    func set(_ option: CURLoption, _ value: UnsafeMutableRawPointer) -> Bool {
        curl_setopt_pointer(handle, option, value) == CURLE_OK
    }

    /// Names the call to which a message of libcurl's belongs.
    func set(_ option: CURLoption, _ call: Call) -> Bool {
        curl_setopt_pointer(handle, option, Unmanaged.passUnretained(call).toOpaque()) == CURLE_OK
    }
}
