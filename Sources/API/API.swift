// API — the two listeners: what stands on each, and whatever belongs to no protocol of clients.
//
// It owns the public listener, on which protocols of clients stand beside each other, with what all of them share: the
// pages to which mails lead, and published keys. And it owns the management listener: health, and the administration
// with its gate.
//
// It must not know of a protocol of clients, SQL, Graph or mappings: it sees HTTP and the use cases, and is handed the
// protocols and the error table.
