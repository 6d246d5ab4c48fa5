import { cpSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { freePort } from '../service-process.ts'
import { BUILDER, makeBases, RUNTIME } from './bases.ts'
import { Engine } from './engine.ts'
import { RecordedRows } from './recorded-rows.ts'
import { check, must, Skipped, type Steps } from './steps.ts'

const ROOT = join(import.meta.dirname, '../..')
const IMAGE = 'localhost/priorbook'
const CONTAINER = 'priorbook-test'
const VOLUME = 'priorbook-data'
const MAX_WAIT_MS = 300_000
const MIN_ROWS = 1000
const MARKETS_PER_VENUE = 3
// Nothing but /data and /tmp can be written, and nothing can be gained.
const NO_RIGHTS = ['--cap-drop', 'ALL', '--security-opt', 'no-new-privileges']
const CLOSED = ['--read-only', '--tmpfs', '/tmp', ...NO_RIGHTS]
// Built for no use of the server: sources, declarations, tests, npm.
const FIND_NEEDLESS = `find / -xdev \\( -name npm -o -path '/opt/priorbook/*.ts' -o -path '/opt/priorbook/*.mts' \
  -o -path '/opt/priorbook/*.cts' -o -path '/opt/priorbook/*.map' -o -path '*/typescript' -o -path '*/vitest' \\)`
const TRY_WRITES = `for folder in / /opt/priorbook /usr/local/bin /etc /var; do
  touch $folder/x 2>/dev/null && echo $folder
done
touch /data/x /tmp/x && rm /data/x /tmp/x`

/** The image, built and run: killed and started again over its volume, it has every row that a client had read. */
export async function tryImage(steps: Steps, scratch: string): Promise<void> {
  const engine = new Engine(scratch)
  const image = new Image(engine, scratch)
  try {
    await steps.try('base images of Debian packages', () => {
      engine.install()
      makeBases(engine)
    })
    await steps.try('build of deploy/Dockerfile', () => image.build())
    await steps.try('the image has no sources, tools or npm', () => image.lookInside())
    await steps.try('the image has labels, a user, a volume and a health check', () =>
      image.checkConfig(),
    )
    await steps.try('a container is healthy, as user 1000 with a read-only root', () =>
      image.start(),
    )
    await steps.try('it writes only /data and /tmp', () => image.tryWrites())
    await steps.try('it records, and serves REST and the explorer at a published port', () =>
      image.readApi(),
    )
    await steps.try('killed and started again, it has every row that was read before', () =>
      image.killAndRestart(),
    )
    await steps.try('it ends in order on SIGTERM, with a sound tape', () => image.stop())
    await steps.try('it is unhealthy where nothing answers', () => image.checkUnhealthy())
  } finally {
    engine.remove()
  }
}

class Image {
  readonly #engine: Engine
  readonly #scratch: string
  #url = ''
  #isStarted = false

  constructor(engine: Engine, scratch: string) {
    this.#engine = engine
    this.#scratch = scratch
  }

  build(): string {
    if (!this.#engine.hasImage(BUILDER)) throw new Skipped('there is no base image')
    const context = join(this.#scratch, 'context')
    // What is committed or about to be, as a clone has it.
    const list = ['ls-files', '-z', '--cached', '--others', '--exclude-standard']
    for (const file of must('git', ['-C', ROOT, ...list])
      .split('\0')
      .slice(0, -1)) {
      cpSync(join(ROOT, file), join(context, file))
    }
    // The other format has no health check.
    const options = ['--format', 'docker', '--isolation', 'chroot', '--pull-never']
    const bases = ['--build-arg', `BUILDER=${BUILDER}`, '--build-arg', `RUNTIME=${RUNTIME}`]
    const file = ['--file', join(context, 'deploy/Dockerfile')]
    this.#engine.buildah('build', ...options, ...bases, ...file, '--tag', IMAGE, context)
    const mb = (name: string): string => `${Math.round(this.#engine.sizeOf(name) / 1e6)} MB`
    return `${mb(IMAGE)}, of which ${mb(RUNTIME)} are the base`
  }

  lookInside(): string {
    this.#needImage()
    const script = `${FIND_NEEDLESS}; du -sm /opt/priorbook /usr/local/bin/node`
    const lines = this.#once('--entrypoint', 'sh', IMAGE, '-c', script).split('\n')
    const needless = lines.slice(0, -2)
    check(needless.length === 0, `it contains ${needless.slice(0, 5).join(', ')}`)
    return `MB: ${lines.slice(-2).join(', ').replaceAll('\t', ' ')}`
  }

  checkConfig(): string {
    this.#needImage()
    const [about] = JSON.parse(this.#engine.podman('image', 'inspect', IMAGE)) as readonly [
      {
        readonly User: string
        readonly Labels: Readonly<Record<string, string>>
        readonly Healthcheck?: { readonly Test: readonly string[] }
        readonly Config: {
          readonly Volumes: Readonly<Record<string, unknown>>
          readonly ExposedPorts: Readonly<Record<string, unknown>>
        }
      },
    ]
    check(about.User === '1000:1000', `its user is ${about.User}`)
    check('/data' in about.Config.Volumes, 'it has no volume /data')
    check('8780/tcp' in about.Config.ExposedPorts, 'it exposes no port 8780')
    check(about.Healthcheck !== undefined, 'it has no health check')
    const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
      readonly version: string
    }
    const label = (name: string): string | undefined =>
      about.Labels[`org.opencontainers.image.${name}`]
    check(label('version') === version, `its label has the version ${label('version')}`)
    check(label('title') === 'Priorbook' && label('licenses') === 'MIT', 'it has no labels')
    return `${label('title')} ${label('version')}`
  }

  async start(): Promise<string> {
    this.#needImage()
    const port = await freePort()
    this.#url = `http://127.0.0.1:${port}`
    this.#engine.podman('volume', 'create', VOLUME)
    const place = ['--volume', `${VOLUME}:/data`, '--publish', `127.0.0.1:${port}:8780`]
    const name = ['--detach', '--network', 'slirp4netns', '--name', CONTAINER]
    this.#engine.run(...name, ...place, ...CLOSED, IMAGE)
    this.#isStarted = true
    await this.#untilHealthy()
    const pid = this.#engine.podman('inspect', '--format', '{{.State.Pid}}', CONTAINER)
    const status = readFileSync(`/proc/${pid}/status`, 'utf8')
    check(/^Uid:\t1000\t1000\t1000\t1000$/m.test(status), 'it does not run as user 1000')
    check(/^CapEff:\t0+$/m.test(status), 'it has capabilities')
    check(/^NoNewPrivs:\t1$/m.test(status), 'it may gain privileges')
    return 'no capabilities'
  }

  tryWrites(): void {
    this.#needContainer()
    const written = this.#engine.podman('exec', CONTAINER, 'sh', '-c', TRY_WRITES)
    check(written === '', `it can write to ${written}`)
  }

  async readApi(): Promise<string> {
    this.#needContainer()
    const page = await fetch(`${this.#url}/`, { headers: { accept: 'text/html' } })
    check((await page.text()).includes('<script type="module"'), 'the explorer is not there')
    const markets = await this.#untilRecorded()
    return `${markets.length} markets of three venues`
  }

  async killAndRestart(): Promise<string> {
    this.#needContainer()
    const rows = this.#rows()
    const markets = await this.#untilRecorded()
    const before = await rows.read(markets)
    this.#engine.podman('kill', '--signal', 'KILL', CONTAINER)
    const code = this.#engine.podman('wait', CONTAINER)
    check(code === '137', `it ended with ${code}`)
    const { observations } = this.#verify()
    this.#engine.podman('start', CONTAINER)
    await this.#untilHealthy()
    // The same key: it was kept too.
    const after = await rows.read(markets)
    const lost = [...before].filter(([id, text]) => after.get(id) !== text)
    check(lost.length === 0, `${lost.length} of ${before.size} rows: ${lost[0]?.join(' ')}`)
    return `${before.size} rows, the tape had ${observations}`
  }

  async stop(): Promise<string> {
    this.#needContainer()
    const rows = this.#rows()
    const before = await rows.read(await this.#untilRecorded())
    this.#engine.podman('stop', '--time', '120', CONTAINER)
    const code = this.#engine.podman('inspect', '--format', '{{.State.ExitCode}}', CONTAINER)
    check(code === '0', `it ended with ${code}`)
    const { observations, pending } = this.#verify()
    check(pending === 0, `${pending} records of the journal are not in the tape`)
    check(observations >= before.size, `${before.size} rows became ${observations}`)
    return `${observations} observations`
  }

  checkUnhealthy(): void {
    this.#needImage()
    let words = ''
    try {
      this.#once('--entrypoint', 'node', IMAGE, '/opt/priorbook/health.mjs')
    } catch (error) {
      words = (error as Error).message
    }
    check(words.includes('does not answer'), words === '' ? 'it is healthy' : words)
  }

  // A container for one command.
  #once(...args: readonly string[]): string {
    return this.#engine.run('--rm', '--network', 'none', '--no-healthcheck', ...CLOSED, ...args)
  }

  #rows(): RecordedRows {
    const [key = ''] = /pb_live_\w+/.exec(this.#engine.podman('logs', CONTAINER)) ?? []
    check(key !== '', 'it printed no key')
    return new RecordedRows(this.#url, key)
  }

  // The markets to read, as soon as all venues have some and there are enough rows.
  async #untilRecorded() {
    const rows = this.#rows()
    const until = Date.now() + MAX_WAIT_MS
    for (;;) {
      const markets = await rows.markets(MARKETS_PER_VENUE)
      const count = markets.reduce((sum, { coverage }) => sum + coverage.observations, 0)
      const venues = new Set(markets.map(({ venue }) => venue))
      if (venues.size === 3 && count >= MIN_ROWS) return markets
      check(Date.now() < until, `only ${count} rows of ${venues.size} venues were recorded`)
      await pause(500)
    }
  }

  async #untilHealthy(): Promise<void> {
    const until = Date.now() + MAX_WAIT_MS
    for (;;) {
      try {
        this.#engine.podman('healthcheck', 'run', CONTAINER)
        return
      } catch (error) {
        if (Date.now() > until) {
          const logs = this.#engine.podman('logs', '--tail', '20', CONTAINER)
          throw new Error(`${(error as Error).message}\n${logs}`, { cause: error })
        }
      }
      await pause(500)
    }
  }

  // Every checksum, chain and book of the volume, and the tape derived again from its journal.
  #verify(): { readonly observations: number; readonly pending: number } {
    const text = this.#once('--volume', `${VOLUME}:/data`, IMAGE, 'verify', '--journal', '--json')
    return JSON.parse(text) as { readonly observations: number; readonly pending: number }
  }

  #needImage(): void {
    if (!this.#engine.hasImage(IMAGE)) throw new Skipped('the image was not built')
  }

  #needContainer(): void {
    if (!this.#isStarted) throw new Skipped('the container was not started')
  }
}
