import type { ChildProcess } from 'node:child_process'
import { readFileSync } from 'node:fs'

/** Ends a process that ends with its input, and waits for it. */
export function stopChild(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    if (child.exitCode !== null) {
      resolve()
      return
    }
    child.once('exit', () => resolve())
    child.stdin!.end()
    child.kill('SIGTERM')
  })
}

/** The resident memory of the largest process of a family. */
export function familyRssMb(parent: ChildProcess): number {
  const pid = parent.pid!
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
  const pids = [pid, ...children.split(' ').filter(Boolean).map(Number)]
  const sizes = pids.map((one) => {
    const text = readFileSync(`/proc/${one}/status`, 'utf8')
    return Number(/VmRSS:\s+(\d+)/.exec(text)?.[1] ?? 0) / 1024
  })
  return Math.max(...sizes)
}
