import ArgumentParser
import Glibc
import Identity

/// The exit codes of sysexits.h that the command line uses.
enum Exit {
    static let dataError = ExitCode(65)
    static let noInput = ExitCode(66)
    static let unavailable = ExitCode(69)
    static let software = ExitCode(70)
    static let configuration = ExitCode(78)

    /// Says on standard error what is wrong, and gives the code to throw.
    static func saying(_ text: String, _ code: ExitCode) -> ExitCode {
        let line = text.hasSuffix("\n") ? text : text + "\n"
        _ = Array(line.utf8).withUnsafeBytes { write(STDERR_FILENO, $0.baseAddress, $0.count) }
        return code
    }

    /// The code for a failure of a use case.
    static func saying(_ failure: Failure) -> ExitCode {
        let text = "federation: \(failure.message)" + (failure.cause.map { " (\($0))" } ?? "")
        return switch failure.reason {
        case .storeUnavailable, .overloaded: saying(text, unavailable)
        case .malformedRequest, .constraintViolation, .valueNotConvertible: saying(text, dataError)
        default: saying(text, software)
        }
    }
}
