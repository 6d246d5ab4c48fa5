import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runProgram } from './prometheus.ts'

// The generated code of the official definitions of OTLP.
const PACKAGE = 'opentelemetry-proto==1.45.2'
const FOLDER = join(
  import.meta.dirname,
  '../../node_modules/.cache/priorbook-otlp',
  PACKAGE.replace('==', '-'),
)
const PYTHON = join(FOLDER, 'bin/python')
const DONE = join(FOLDER, 'installed')

const DECODE = `
import json, sys
from google.protobuf.json_format import MessageToDict
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
spans = []
for file in sys.argv[1:]:
    message = ExportTraceServiceRequest()
    with open(file, 'rb') as opened:
        message.ParseFromString(opened.read())
    for part in message.resource_spans:
        resource = {one.key: MessageToDict(one.value) for one in part.resource.attributes}
        for scope in part.scope_spans:
            for span in scope.spans:
                spans.append({
                    'resource': resource,
                    'name': span.name,
                    'kind': span.kind,
                    'trace': span.trace_id.hex(),
                    'span': span.span_id.hex(),
                    'parent': span.parent_span_id.hex(),
                    'nanos': span.end_time_unix_nano - span.start_time_unix_nano,
                    'status': span.status.code,
                    'attributes': {one.key: MessageToDict(one.value) for one in span.attributes},
                })
print(json.dumps(spans))
`

/** A value of an attribute in the JSON form of protobuf. */
type Value = { readonly stringValue?: string; readonly intValue?: string }

/** A span as the official definitions read it. */
export type ReceivedSpan = {
  readonly resource: Readonly<Record<string, Value>>
  readonly name: string
  readonly kind: number
  readonly trace: string
  readonly span: string
  readonly parent: string
  readonly nanos: number
  readonly status: number
  readonly attributes: Readonly<Record<string, Value>>
}

/** A collector of traces that keeps what it gets. */
export type OtlpReceiver = {
  readonly url: string
  /** Everything received so far. */
  spans(): Promise<readonly ReceivedSpan[]>
  close(): void
}

/** Installs the official definitions where they are missing. */
export function installOtlp(): void {
  if (existsSync(DONE)) return
  rmSync(FOLDER, { recursive: true, force: true })
  mkdirSync(FOLDER, { recursive: true })
  run('python3', ['-m', 'venv', FOLDER])
  run(PYTHON, ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', PACKAGE])
  writeFileSync(DONE, '')
}

function run(program: string, args: readonly string[]): void {
  const { status, stderr } = spawnSync(program, args, { encoding: 'utf8' })
  if (status !== 0) throw new Error(`${program} ${args.join(' ')}: ${stderr}`)
}

/** Starts a collector on a free port. */
export async function startOtlpReceiver(): Promise<OtlpReceiver> {
  const folder = mkdtempSync(join(tmpdir(), 'priorbook-otlp-'))
  const files: string[] = []
  const server = createServer((request, response) => {
    const parts: Buffer[] = []
    request.on('data', (part: Buffer) => parts.push(part))
    request.on('end', () => {
      const isOtlp =
        request.url === '/v1/traces' && request.headers['content-type'] === 'application/x-protobuf'
      if (isOtlp) {
        const file = join(folder, String(files.length))
        writeFileSync(file, Buffer.concat(parts))
        files.push(file)
      }
      response.writeHead(isOtlp ? 200 : 404, { 'content-type': 'application/x-protobuf' }).end()
    })
  })
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    async spans() {
      const { code, out } = await runProgram(PYTHON, ['-c', DECODE, ...files])
      if (code !== 0) throw new Error(out)
      return JSON.parse(out) as ReceivedSpan[]
    },
    close() {
      server.close()
      server.closeAllConnections()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
