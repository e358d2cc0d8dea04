import AdministrationAPI
import Crypto
import Encodings
import Hummingbird
import NIOCore
import Pages

/// The console's style sheet and scripts, which are embedded in the program.
///
/// Their file names contain a digest of their contents, so browsers may cache them without a time limit.
enum Assets {
    struct Asset {
        fileprivate let name: String
        fileprivate let type: String
        fileprivate let content: ByteBuffer

        fileprivate init(_ name: String, ending: String, type: String, _ bytes: [UInt8]) {
            let digest = Hexadecimal.encode(SHA256.hash(data: bytes)).prefix(16)
            self.name = "\(name)-\(digest).\(ending)"
            self.type = type
            content = ByteBuffer(bytes: bytes)
        }

        fileprivate var path: String { "/console/assets/\(name)" }

        /// The HTML element `script` that makes a page load this script.
        var element: HTML { "<script type=\"module\" src=\"\(path)\"></script>" }
    }

    private static let style = Asset("console", ending: "css", type: "text/css", PackageResources.console_css)
    private static let script = Asset("console", ending: "js", type: "text/javascript", PackageResources.console_js)
    /// The script of the editor in which operators map profile fields to properties.
    static let mapping = Asset("mapping", ending: "js", type: "text/javascript", PackageResources.mapping_js)
    /// The script of the log of logins, which loads new logins.
    static let logins = Asset("logins", ending: "js", type: "text/javascript", PackageResources.logins_js)
    /// The script that processes many users, one after the other.
    static let people = Asset("people", ending: "js", type: "text/javascript", PackageResources.people_js)
    /// The script that reads files into form fields.
    static let files = Asset("files", ending: "js", type: "text/javascript", PackageResources.files_js)
    /// The script that asks the browser to create and use passkeys, which is possible only in a script.
    static let passkeys = Asset("passkeys", ending: "js", type: "text/javascript", PackageResources.passkeys_js)
    private static let icon = Asset("icon", ending: "svg", type: "image/svg+xml", PackageResources.icon_svg)

    /// The elements in the HTML head of each page.
    static var head: HTML {
        """
        <link rel="stylesheet" href="\(style.path)"><link rel="icon" href="\(icon.path)" type="image/svg+xml">\
        \(script.element)
        """
    }

    static func mount(on router: Router<ManagementContext>) {
        for asset in [style, script, mapping, logins, people, files, passkeys, icon] {
            router.get(RouterPath(asset.path)) { _, _ in
                let headers: HTTPFields = [
                    .contentType: "\(asset.type); charset=utf-8",
                    .cacheControl: "public, max-age=31536000, immutable", .resourcePolicy: "same-origin",
                ]
                return Response(status: .ok, headers: headers, body: ResponseBody(byteBuffer: asset.content))
            }
        }
    }
}
