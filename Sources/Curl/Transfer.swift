internal import CLibCurl

/// An easy handle of libcurl and its current call.
///
/// Only the thread of the client uses a transfer; libcurl's callbacks run on that thread.
protocol Transfer: AnyObject {
    var handle: UnsafeMutableRawPointer { get }

    /// Resumes the caller with the outcome that libcurl's result code stands for, and makes the transfer ready for
    /// reuse.
    func finish(_ code: CURLcode)

    /// Resumes the caller with an error, and makes the transfer ready for reuse.
    func finish(_ error: CurlError)

    /// Returns nil while the call is within its time limits; after that, the phase that the call is in.
    func overduePhase(at now: ContinuousClock.Instant) -> CurlError.TimeoutPhase?
}

/// Functions that set an option of the libcurl handle, one for each type of argument.
///
/// They return whether libcurl accepted the value.
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

    /// Stores the call in the handle, so that a libcurl message can be matched to its call.
    func set(_ option: CURLoption, _ call: Call) -> Bool {
        curl_setopt_pointer(handle, option, Unmanaged.passUnretained(call).toOpaque()) == CURLE_OK
    }
}
