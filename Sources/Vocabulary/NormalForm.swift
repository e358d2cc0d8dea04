@_spi(_Unicode) import Swift

extension String {
    /// The text in Unicode's form NFC: the keyboards of two devices may write one letter differently.
    ///
    /// The standard library has the form for its own comparisons and gives it out under this name only.
    package var normalized: String {
        var scalars = String.UnicodeScalarView()
        for scalar in _nfc { scalars.append(scalar) }
        return String(scalars)
    }
}
