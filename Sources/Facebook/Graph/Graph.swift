// The folder `Graph` sends requests to Facebook's Graph API and reads the responses.
//
// It gathers `AccessTokenEvidence` and gives no verdict on it. It fetches key sets and verifies nothing with them. It
// has no branch for a simulated Graph.
//
// The rules for any provider are in `Providers/Calls`. In addition, the folder decides which requests are retried and
// how often, when background work sends none (`BackgroundGate`), and how much of an app's rate limit is used (`Usage`).
//
// Graph's texts never reach a message, since they can quote the token ("Malformed access token …"). They are only
// compared with known phrases. An error's codes are copied, and names in plain ASCII of bounded length. Nothing else
// is.
import Providers

extension UpstreamService {
    static let facebook = UpstreamService(name: "Facebook", api: "Graph")
}
