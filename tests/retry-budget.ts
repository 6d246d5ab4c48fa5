import type { Reporter, TestModule } from 'vitest/node'

/** Max tests per run that may pass on their second attempt; more means a real fault, not a slow machine. */
const MAX_RETRIED = 2

/** Prints every test that needed a second attempt, with the reason, and fails the run when there are too many. */
export default class RetryBudget implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const retried = modules.flatMap((module) =>
      [...module.children.allTests()].filter((test) => (test.diagnostic()?.retryCount ?? 0) > 0),
    )
    for (const test of retried) {
      console.log(`retried: ${test.module.relativeModuleId} > ${test.fullName}`)
      // What the first attempt died of, which nothing else shows once the second one passed.
      for (const { message, stack, diff } of test.result().errors ?? []) {
        const place = stack?.split('\n').find((line) => line.includes(test.module.relativeModuleId))
        console.log(`  because: ${message.slice(0, 2000)}${place ?? ''}`)
        if (diff !== undefined) console.log(diff.slice(0, 2000))
      }
    }
    console.log(`${retried.length} tests were retried, at most ${MAX_RETRIED} may be`)
    if (retried.length > MAX_RETRIED) process.exitCode = 1
  }
}
