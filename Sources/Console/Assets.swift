import API
import Crypto
import HTTP
import HTTPTypes
import Hummingbird
import NIOCore
import Vocabulary

/// The style and the scripts, which are parts of the program.
///
/// Their names have a digest of what they hold, so a browser keeps them for good.
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

        /// A script, as a page asks for it.
        var element: HTML { "<script type=\"module\" src=\"\(path)\"></script>" }
    }

    private static let style = Asset("console", ending: "css", type: "text/css", PackageResources.console_css)
    private static let script = Asset("console", ending: "js", type: "text/javascript", PackageResources.console_js)
    /// What the editor of mappings has beyond its form.
    static let mapping = Asset("mapping", ending: "js", type: "text/javascript", PackageResources.mapping_js)
    /// What the log of logins has besides: it follows.
    static let logins = Asset("logins", ending: "js", type: "text/javascript", PackageResources.logins_js)
    /// What is done to many people, one after the other.
    static let people = Asset("people", ending: "js", type: "text/javascript", PackageResources.people_js)
    /// Files, whose text goes into forms.
    static let files = Asset("files", ending: "js", type: "text/javascript", PackageResources.files_js)
    /// Passkeys, which browsers make and show by scripts alone.
    static let passkeys = Asset("passkeys", ending: "js", type: "text/javascript", PackageResources.passkeys_js)
    private static let icon = Asset("icon", ending: "svg", type: "image/svg+xml", PackageResources.icon_svg)

    /// What stands in the head of each page.
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
