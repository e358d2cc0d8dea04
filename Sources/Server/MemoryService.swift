import CMalloc
import Observability
import ServiceLifecycle

/// Gives memory back to the system after a rush.
///
/// The allocator keeps what has been freed, for good where something small that lives on lies behind it: an instance
/// that was once flooded would have the size of the flood until its end.
struct MemoryService: Service {
    private static let interval = Duration.seconds(20)
    /// Less is not worth the walk through all free pieces.
    private static let least = 8 << 20

    func run() async throws {
        await cancelWhenGracefulShutdown {
            // Resident bytes after memory was given back last. The allocator's count of free bytes does not do: it is
            // the same before and after a rush between two looks.
            var lowest = 0
            while !Task.isCancelled {
                try? await Task.sleep(for: Self.interval)
                guard let resident = ProcessStatistics.residentBytes else { continue }
                lowest = min(lowest, resident)
                guard resident - lowest >= Self.least else { continue }
                malloc_trim(0)
                lowest = ProcessStatistics.residentBytes ?? resident
            }
        }
    }
}
