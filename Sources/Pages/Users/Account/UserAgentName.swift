/// The names of a browser and its system, such as `Chrome, Windows`, from the header `User-Agent`.
///
/// If the browser or the system is unknown, the text is the whole header, since apps put their own names there.
struct UserAgentName {
    let text: String

    init(_ header: String) {
        func first(_ names: [(mark: String, name: String)]) -> String? {
            names.first { header.firstRange(of: $0.mark) != nil }?.name
        }
        if let browser = first(Self.browsers), let system = first(Self.systems) {
            text = "\(browser), \(system)"
        } else {
            text = header
        }
    }

    /// The names of browsers, each with the text in `User-Agent` that stands for it.
    ///
    /// The order matters: Edge also calls itself Chrome, and Chrome also calls itself Safari.
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
