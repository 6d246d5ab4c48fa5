import type { Reporter, TestModule } from 'vitest/node'

/** Max tests per run that may pass on their second attempt; more means a real fault, not a slow machine. */
const MAX_RETRIED = 2

/** Prints every test that needed a second attempt, and fails the run when there are too many. */
export default class RetryBudget implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const retried = modules.flatMap((module) =>
      [...module.children.allTests()].filter((test) => (test.diagnostic()?.retryCount ?? 0) > 0),
    )
    for (const { fullName, module } of retried) {
      console.log(`retried: ${module.relativeModuleId} > ${fullName}`)
    }
    console.log(`${retried.length} tests were retried, at most ${MAX_RETRIED} may be`)
    if (retried.length > MAX_RETRIED) process.exitCode = 1
  }
}
