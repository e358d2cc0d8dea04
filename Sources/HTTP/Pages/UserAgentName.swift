/// The names of a browser and its system, read from the header `User-Agent`: `Chrome, Windows`.
///
/// A header without a known browser stays as it came: apps put their own names there.
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

    /// In an order that matters: Edge calls itself Chrome, too, and Chrome Safari.
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
