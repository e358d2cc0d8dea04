import Curl
import Domain
import FormerSystems
import FoundationEssentials
import Logging

extension FormerSystems {
    /// Creates the client of applications' former systems, whose connections run on a separate thread.
    ///
    /// The secrets are in environment variables whose names have a form such as `SHOP_PASSWORD_SOURCE_SECRET`.
    convenience init(curl: CurlConfiguration, logger: Logger) throws(CurlError) {
        var curl = curl
        curl.maxInFlight = Self.maxAtOnce
        self.init(
            client: try CurlClient(configuration: curl),
            secret: { ProcessInfo.processInfo.environment[$0.text].map { Secret($0) } },
            logger: logger
        )
    }
}
