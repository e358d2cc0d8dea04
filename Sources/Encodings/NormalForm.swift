@_spi(_Unicode) import Swift

extension String {
    /// The text in Unicode's normalization form NFC: the keyboards of two devices may encode a letter differently.
    ///
    /// The standard library uses NFC for its own comparisons and provides it under this name only.
    package var normalized: String {
        var scalars = String.UnicodeScalarView()
        for scalar in _nfc { scalars.append(scalar) }
        return String(scalars)
    }
}
