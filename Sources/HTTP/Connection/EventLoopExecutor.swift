package import NIOCore

/// Runs the tasks that serve a connection on its event loop.
///
/// So one thread reads a request, handles it and writes the response. Otherwise each step between the socket and a task
/// would wake a thread of Swift's pool. On a machine with few processors, this costs more than the step. Blocking work
/// has threads of its own. Long computations, such as those for pages of users, run in Swift's pool.
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
