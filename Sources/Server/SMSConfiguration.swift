import Curl
import Domain
import Logging
import Messaging
import Secrets

/// How the service sends SMS.
struct SMSConfiguration: Sendable {
    var url: HTTPURL
    var secret: SigningSecret
    var limits: SMSLimits
    var curl: CurlConfiguration

    /// Creates the client of the SMS gateway, whose connections run on a separate thread.
    func gateway() throws(CurlError) -> SMSGateway {
        SMSGateway(
            url: url,
            secret: secret,
            client: try CurlClient(configuration: curl),
            limits: limits,
            clock: .system
        )
    }
}
