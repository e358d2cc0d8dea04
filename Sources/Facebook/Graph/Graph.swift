// The folder `Graph` sends requests to Facebook's Graph API and reads the responses.
//
// It gathers `AccessTokenEvidence` and gives no verdict on it, fetches key sets and verifies nothing with them, and has
// no branch for a simulated Graph. Beyond the rules for any provider (`Providers/Calls`) it decides which requests are
// retried and how often, when background work sends none (`BackgroundGate`), and how much of an app's rate limit is
// used (`Usage`).
//
// Graph's texts never reach a message: they can quote the token ("Malformed access token …"). They are only compared
// with known phrases. Only codes, and names in plain ASCII of bounded length, are copied from an error.
import Providers

extension UpstreamService {
    static let facebook = UpstreamService(name: "Facebook", api: "Graph")
}
