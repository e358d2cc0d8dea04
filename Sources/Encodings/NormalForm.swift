@_spi(_Unicode) import Swift

extension String {
    /// The text in Unicode's normalization form NFC.
    ///
    /// The keyboards of two devices may encode the same letter differently. The standard library uses NFC for its own
    /// comparisons and provides it only under the name `_nfc`.
    package var normalized: String {
        var scalars = String.UnicodeScalarView()
        for scalar in _nfc { scalars.append(scalar) }
        return String(scalars)
    }
}
