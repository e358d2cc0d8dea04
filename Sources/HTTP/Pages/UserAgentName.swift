/// A browser and its system as people know them, by the header `User-Agent`: `Chrome, Windows`.
///
/// Whatever is not among those known stays as it came: an app of one's own says there what it is called.
package struct UserAgentName {
    package let text: String

    package init(_ header: String) {
        func first(_ names: [(mark: String, name: String)]) -> String? {
            names.first { header.firstRange(of: $0.mark) != nil }?.name
        }
        if let browser = first(Self.browsers), let system = first(Self.systems) {
            text = "\(browser), \(system)"
        } else {
            text = header
        }
    }

    /// Those that name others as well come before them.
    private static let browsers = [
        (mark: "Edg", name: "Edge"), ("OPR/", "Opera"), ("SamsungBrowser/", "Samsung Internet"),
        ("Firefox/", "Firefox"), ("FxiOS/", "Firefox"), ("CriOS/", "Chrome"), ("Chrome/", "Chrome"),
        ("Safari/", "Safari"),
    ]

    private static let systems = [
        (mark: "iPhone", name: "iPhone"), ("iPad", "iPad"), ("Android", "Android"), ("Windows", "Windows"),
        ("CrOS", "ChromeOS"), ("Macintosh", "Mac"), ("Linux", "Linux"),
    ]
}
