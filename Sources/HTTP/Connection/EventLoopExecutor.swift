package import NIOCore

/// Runs the tasks that serve a connection on its event loop.
///
/// A request that has been read goes on where it was read, and its reply is written where it was made: without it each
/// step between the socket and a task wakes a thread of Swift's pool, which on a machine with few processors costs more
/// than the step. What blocks has threads of its own; what computes for long, as pages of users do, goes to the pool.
package final class EventLoopExecutor: TaskExecutor {
    private let loop: any EventLoop

    package init(_ loop: any EventLoop) {
        self.loop = loop
    }

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        loop.execute { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
