package import NIOCore

/// Runs the tasks that serve a connection on its event loop.
///
/// A request is handled where it was read, and its response is written where it was made. Otherwise each step between
/// the socket and a task wakes a thread of Swift's pool, which on a machine with few processors costs more than the
/// step. Blocking work has threads of its own. Long computations, such as pages of users, go to the pool.
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
