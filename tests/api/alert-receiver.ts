import { createHmac, timingSafeEqual } from 'node:crypto'
import { appendFileSync, existsSync, readFileSync, truncateSync } from 'node:fs'
import { createServer } from 'node:http'

// A receiver of webhooks in a process of its own, which a test kills. It fails, is slow and hangs in turn. Every
// event that it accepts is a line of the file before it answers; every answer that went out is one too.
const [port = '', file = '', secret = ''] = process.argv.slice(2)
const key = Buffer.from(secret.replace('whsec_', ''), 'base64')
let count = 0

// A kill may have cut the last line. Its event was not answered, so that it comes again.
if (existsSync(file)) truncateSync(file, readFileSync(file).lastIndexOf('\n') + 1)

const server = createServer((request, response) => {
  const parts: Buffer[] = []
  request.on('data', (part: Buffer) => parts.push(part))
  request.on('end', () => {
    const body = Buffer.concat(parts).toString()
    const id = String(request.headers['webhook-id'])
    const time = String(request.headers['webhook-timestamp'])
    const mac = createHmac('sha256', key).update(`${id}.${time}.${body}`).digest()
    const said = String(request.headers['webhook-signature']).replace('v1,', '')
    const isSigned = timingSafeEqual(mac, Buffer.from(said, 'base64'))
    const turn = ++count
    if (turn % 7 === 3) {
      response.writeHead(500).end()
      return
    }
    appendFileSync(file, `${JSON.stringify({ what: 'accepted', id, body, isSigned })}\n`)
    // Hangs: it has the event, and never says so.
    if (turn % 41 === 5) return
    const answer = (): void => {
      response.writeHead(204).end(() => {
        appendFileSync(file, `${JSON.stringify({ what: 'answered', id })}\n`)
      })
    }
    if (turn % 11 === 4) setTimeout(answer, 60)
    else answer()
  })
})
server.listen(Number(port), '127.0.0.1', () => console.log('listening'))
