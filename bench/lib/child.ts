import { spawn, type ChildProcess } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'

/** Starts a Node program that ends with its input, with the options of this process unless others are given. */
export function startChild(
  file: string,
  args: readonly string[],
  options: readonly string[] = process.execArgv,
): ChildProcess {
  return spawn(process.execPath, [...options, file, ...args], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
}

/** The first line that a process prints. */
export function firstLine(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    createInterface({ input: child.stdout! }).once('line', resolve)
    child.once('exit', () => reject(new Error('the process ended before it printed a line')))
  })
}

/** Ends the input of a process, and waits until it has ended by itself. */
export function endInput(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    child.stdin!.end()
    if (child.exitCode !== null) resolve()
    else child.once('exit', () => resolve())
  })
}

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
