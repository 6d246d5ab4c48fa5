import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { get as getPlain } from 'node:http'
import { get as getSecure } from 'node:https'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { TLSSocket } from 'node:tls'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { WebSocket } from 'ws'
import { callServer } from './call.testing.ts'
import { startServe } from './serve.testing.ts'

const SAMPLE = fileURLToPath(new URL('../../sample', import.meta.url))
const PAGE = fileURLToPath(new URL('../../../../docs/operate/proxy.md', import.meta.url))
const DEMO = '/v3/demo/venueb/markets?limit=1'
// More than the demo allows one address in a second, if the machine is quick enough; else some more follow.
const BURST = 80
const MOST_BURSTS = 20

const scratch = mkdtempSync(join(tmpdir(), 'priorbook-proxy-'))
const data = join(scratch, 'data')
const file = (name: string): string => join(scratch, name)

beforeAll(() => callServer('import', 'venueb', SAMPLE, '--data', data))
afterAll(() => rmSync(scratch, { recursive: true, force: true }))

async function serve(env: Record<string, string>) {
  const args = ['--data', data, '--upstream', 'none', '--workers', '1']
  const served = await startServe(scratch, args, { PRIORBOOK_LOG_LEVEL: 'warn', ...env })
  onTestFinished(() => void served.child.kill('SIGKILL'))
  return served
}

type Got = { readonly status: number; readonly certificate: string }

function ask(url: string, forwarded?: string, localAddress?: string): Promise<Got> {
  const headers = forwarded === undefined ? {} : { 'x-forwarded-for': forwarded }
  const options = { headers, agent: false as const, rejectUnauthorized: false, localAddress }
  return new Promise((resolve, reject) => {
    const get = url.startsWith('https') ? getSecure : getPlain
    get(url, options, (answer) => {
      const socket = answer.socket as Partial<TLSSocket>
      const certificate = String(socket.getPeerCertificate?.().subject?.CN)
      answer.resume()
      answer.on('end', () => resolve({ status: answer.statusCode!, certificate }))
    }).on('error', reject)
  })
}

/** How many requests are refused of bursts of them, until some are. */
async function refusedOf(one: (turn: number) => Promise<Got>): Promise<number> {
  let refused = 0
  for (let bursts = 0; refused === 0 && bursts < MOST_BURSTS; bursts++) {
    const answers = await Promise.all(Array.from({ length: BURST }, (_, turn) => one(turn)))
    refused = answers.filter(({ status }) => status === 429).length
  }
  return refused
}

function makeCertificate(name: string): void {
  const subject = ['-subj', `/CN=${name}`, '-days', '2', '-nodes']
  const out = ['-keyout', file(`${name}.key`), '-out', file(`${name}.crt`)]
  const made = spawnSync('openssl', ['req', '-x509', '-newkey', 'rsa:2048', ...subject, ...out])
  expect(made.status).toBe(0)
}

test('the client of a trusted proxy is the one that it names, whatever the client wrote', async () => {
  const { url } = await serve({ PRIORBOOK_API_TRUST_PROXY: '127.0.0.0/8' })
  const noisy = (turn: number): string => `203.0.113.${turn}, 198.51.100.1`
  const refused = await refusedOf((turn) => ask(url + DEMO, noisy(turn)))
  expect(refused).toBeGreaterThan(0)
  expect(await ask(url + DEMO, '203.0.113.1, 198.51.100.2')).toMatchObject({ status: 200 })
  expect(await ask(url + DEMO, '2001:db8::7')).toMatchObject({ status: 200 })
})

test('without a trusted proxy the header counts for nothing', async () => {
  const { url } = await serve({})
  const refused = await refusedOf((turn) => ask(url + DEMO, `198.51.100.${turn}`))
  expect(refused).toBeGreaterThan(0)
})

test('a proxy that is not an address stops the start', async () => {
  const { child, printed } = await serve({ PRIORBOOK_API_TRUST_PROXY: 'example.com' })
  expect(child.exitCode).toBe(1)
  expect(printed()).toContain('api.trustProxy')
})

test('TLS follows its files, on change and on SIGHUP, and keeps a good certificate', async () => {
  for (const name of ['one', 'two', 'three']) makeCertificate(name)
  const install = (certificate: string, key: string): void => {
    copyFileSync(file(`${key}.key`), file('key.pem'))
    copyFileSync(file(`${certificate}.crt`), file('chain.pem'))
  }
  install('one', 'one')
  const tls = {
    PRIORBOOK_API_TLS_CERT: file('chain.pem'),
    PRIORBOOK_API_TLS_KEY: file('key.pem'),
  }
  const { child, url, printed } = await serve(tls)
  expect(url).toMatch(/^https:/)
  const health = `${url}/v3/health`
  expect(await ask(health)).toEqual({ status: 200, certificate: 'one' })
  const socket = new WebSocket(`${url.replace('https', 'wss')}/v3/demo/stream`, {
    rejectUnauthorized: false,
  })
  await new Promise((resolve, reject) => socket.once('message', resolve).once('error', reject))

  const untilNamed = async (name: string): Promise<void> => {
    while ((await ask(health)).certificate !== name) await pause(50)
  }
  install('two', 'two')
  await untilNamed('two')
  // The key of another certificate: the one before stays.
  install('three', 'two')
  while (!printed().includes('the certificate was not loaded')) await pause(50)
  expect(await ask(health)).toEqual({ status: 200, certificate: 'two' })
  install('three', 'three')
  child.kill('SIGHUP')
  await untilNamed('three')
  expect(child.exitCode).toBeNull()
  // Connections from before go on.
  expect(socket.readyState).toBe(WebSocket.OPEN)
  socket.close()
})

const hasNginx = spawnSync('nginx', ['-v']).error === undefined

test.skipIf(!hasNginx)('the nginx example of the docs works as it is printed', async () => {
  makeCertificate('front')
  const { url } = await serve({ PRIORBOOK_API_TRUST_PROXY: '127.0.0.1' })
  const port = await freePort()
  startNginx(port, new URL(url).host)
  const front = `https://127.0.0.1:${port}`
  const isUp = async (): Promise<boolean> =>
    (await ask(`${front}/v3/health`).catch(() => undefined))?.status === 200
  while (!(await isUp())) await pause(50)
  expect(await ask(`${front}/v3/health`)).toEqual({ status: 200, certificate: 'front' })
  // Two clients of the proxy have limits of their own, and cannot write themselves another address.
  const first = (turn: number) => ask(front + DEMO, `203.0.113.${turn}`, '127.0.0.2')
  expect(await refusedOf(first)).toBeGreaterThan(0)
  expect(await ask(front + DEMO, undefined, '127.0.0.3')).toMatchObject({ status: 200 })
  const socket = new WebSocket(`${front.replace('https', 'wss')}/v3/demo/stream`, {
    rejectUnauthorized: false,
  })
  const welcome = await new Promise((resolve, reject) =>
    socket
      .once('message', (message) => resolve((message as Buffer).toString()))
      .once('error', reject),
  )
  expect(welcome).toContain('"type"')
  socket.close()
})

function startNginx(port: number, upstream: string): ChildProcess {
  const [, block] = /```nginx\n([^`]*)```/.exec(readFileSync(PAGE, 'utf8'))!
  const example = block!
    .replace('127.0.0.1:8780', upstream)
    .replace('listen 443 ssl', `listen 127.0.0.1:${port} ssl`)
    .replace('/etc/nginx/books.example.com.crt', file('front.crt'))
    .replace('/etc/nginx/books.example.com.key', file('front.key'))
  const home = file('nginx')
  mkdirSync(join(home, 'tmp'), { recursive: true })
  const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((name) => `${name}_temp_path ${join(home, 'tmp', name)};`)
    .join('\n')
  const http = `http {\naccess_log off;\n${paths}\n${example}\n}`
  const main = `daemon off;\npid ${join(home, 'pid')};\nerror_log stderr;\nevents {}\n`
  writeFileSync(join(home, 'nginx.conf'), `${main}${http}\n`)
  const child = spawn('nginx', ['-p', home, '-c', join(home, 'nginx.conf')], { stdio: 'ignore' })
  onTestFinished(() => void child.kill('SIGTERM'))
  return child
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer()
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo
      server.close(() => resolve(port))
    })
  })
}
