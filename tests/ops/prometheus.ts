import { execFile, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { installPackages } from '../cluster/debian.ts'
import { freePort } from '../service-process.ts'

const PROMETHEUS = '/usr/bin/prometheus'
const PROMTOOL = '/usr/bin/promtool'
const POLL_MS = 250

/** What a program printed, and its exit code. */
export type Ended = { readonly code: number; readonly out: string }

/** Installs Debian's Prometheus where it is missing; it is not started. */
export function installPrometheus(): void {
  installPackages(['prometheus'], () => existsSync(PROMETHEUS) && existsSync(PROMTOOL))
}

/** Runs promtool to its end; `out` has both outputs. */
export function promtool(args: readonly string[], input = '', cwd?: string): Promise<Ended> {
  return runProgram(PROMTOOL, args, input, cwd)
}

/** Runs a program to its end, without standing still meanwhile. */
export function runProgram(
  program: string,
  args: readonly string[],
  input = '',
  cwd?: string,
): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const options = { encoding: 'utf8', ...(cwd === undefined ? {} : { cwd }) } as const
    const child = execFile(program, args, options, (error, out, err) => {
      if (error !== null && typeof error.code !== 'number') reject(error)
      else resolve({ code: error === null ? 0 : Number(error.code), out: `${out}${err}` })
    })
    child.stdin!.end(input)
  })
}

/** An alert as Prometheus sees it. */
type SeenAlert = {
  readonly labels: Readonly<Record<string, string>>
  readonly state: 'pending' | 'firing'
}

/** One series of an answer. */
type Result = {
  readonly metric: Readonly<Record<string, string>>
  readonly value: readonly [time: number, value: string]
}

/** A Prometheus in a process of its own that scrapes one target. */
export type RunningPrometheus = {
  alerts(): Promise<readonly SeenAlert[]>
  query(promql: string): Promise<readonly Result[]>
  stop(): Promise<void>
}

/** Starts Prometheus with rules; every scrape and evaluation is `seconds` after the one before. */
export async function startPrometheus(
  target: string,
  rules: string,
  seconds: number,
): Promise<RunningPrometheus> {
  const home = mkdtempSync(join(tmpdir(), 'priorbook-prometheus-'))
  const every = `${seconds}s`
  writeFileSync(join(home, 'priorbook.rules.yml'), rules)
  writeFileSync(
    join(home, 'prometheus.yml'),
    JSON.stringify({
      global: { scrape_interval: every, scrape_timeout: every, evaluation_interval: every },
      rule_files: ['priorbook.rules.yml'],
      scrape_configs: [{ job_name: 'priorbook', static_configs: [{ targets: [target] }] }],
    }),
  )
  const listen = `127.0.0.1:${await freePort()}`
  const child = spawn(
    PROMETHEUS,
    [
      `--config.file=${join(home, 'prometheus.yml')}`,
      `--storage.tsdb.path=${join(home, 'data')}`,
      `--web.listen-address=${listen}`,
    ],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  )
  let said = ''
  child.stderr.on('data', (part) => (said += String(part)))
  const ended = new Promise<void>((resolve) => {
    child.once('exit', () => resolve())
  })
  const ask = async <T>(path: string): Promise<T> => {
    const answer = await fetch(`http://${listen}/api/v1/${path}`)
    const { status, data, error } = (await answer.json()) as {
      readonly status: string
      readonly data: T
      readonly error?: string
    }
    if (status !== 'success') throw new Error(`${path}: ${error}`)
    return data
  }
  const isReady = async (): Promise<boolean> => {
    if (child.exitCode !== null) throw new Error(`Prometheus ended:\n${said}`)
    return fetch(`http://${listen}/-/ready`).then(
      ({ ok }) => ok,
      () => false,
    )
  }
  await until(isReady)
  return {
    alerts: async () => (await ask<{ readonly alerts: readonly SeenAlert[] }>('alerts')).alerts,
    query: async (promql) => {
      const path = `query?query=${encodeURIComponent(promql)}`
      return (await ask<{ readonly result: readonly Result[] }>(path)).result
    },
    async stop() {
      child.kill()
      await ended
      rmSync(home, { recursive: true, force: true })
    },
  }
}

/** Asks until the answer is yes; the timeout of the test is the only limit. */
export async function until(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo())) await pause(POLL_MS)
}
