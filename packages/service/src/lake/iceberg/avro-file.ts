import { createHash } from 'node:crypto'
import { PriorbookError } from '@priorbook/sdk/domain'
import avro, { type Schema } from 'avsc'

const MAGIC = Buffer.from('Obj\u0001', 'latin1')
const SYNC_BYTES = 16
const SYNC = { type: 'fixed', name: 'Sync', size: SYNC_BYTES } as const

// https://avro.apache.org/docs/1.12.0/specification/#object-container-files
const HEADER = avro.Type.forSchema({
  type: 'record',
  name: 'Header',
  fields: [
    { name: 'magic', type: { type: 'fixed', name: 'Magic', size: MAGIC.length } },
    { name: 'meta', type: { type: 'map', values: 'bytes' } },
    { name: 'sync', type: SYNC },
  ],
})
const BLOCK = avro.Type.forSchema({
  type: 'record',
  name: 'Block',
  fields: [
    { name: 'count', type: 'long' },
    { name: 'data', type: 'bytes' },
    { name: 'sync', type: SYNC },
  ],
})

type Header = {
  readonly magic: Buffer
  readonly meta: Readonly<Record<string, Buffer>>
  readonly sync: Buffer
}
type Block = { readonly count: number; readonly data: Buffer; readonly sync: Buffer }

/**
 * Rows as an Avro file of one block. Its header has the schema with all attributes, such as the ids of fields, which
 * avsc's own encoder leaves out. The same rows give the same bytes: the mark after a block is a hash, not random.
 */
export function writeAvro(
  schema: Schema,
  rows: readonly unknown[],
  metadata: Readonly<Record<string, string>>,
): Buffer {
  const type = avro.Type.forSchema(schema)
  const data = Buffer.concat(rows.map((row) => type.toBuffer(row)))
  const texts = { 'avro.schema': JSON.stringify(schema), 'avro.codec': 'null', ...metadata }
  const sync = createHash('sha256')
    .update(JSON.stringify(texts))
    .update(data)
    .digest()
    .subarray(0, SYNC_BYTES)
  const meta = Object.fromEntries(
    Object.entries(texts).map(([name, text]) => [name, Buffer.from(text)]),
  )
  const header = HEADER.toBuffer({ magic: MAGIC, meta, sync } satisfies Header)
  if (rows.length === 0) return header
  const block: Block = { count: rows.length, data, sync }
  return Buffer.concat([header, BLOCK.toBuffer(block)])
}

/** The rows of an Avro file that `writeAvro` wrote. */
export function readAvro(name: string, bytes: Uint8Array): readonly unknown[] {
  try {
    return decode(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length))
  } catch (error) {
    const detail = `${name} is not a complete Avro file`
    throw new PriorbookError('object_damaged', detail, { cause: error })
  }
}

function decode(bytes: Buffer): readonly unknown[] {
  const { value, offset } = HEADER.decode(bytes) as Decoded<Header>
  if (offset < 0 || !value.magic.equals(MAGIC)) throw new Error('no header')
  const schema = JSON.parse(value.meta['avro.schema']!.toString()) as Schema
  const type = avro.Type.forSchema(schema)
  const rows: unknown[] = []
  for (let at = offset; at < bytes.length;) {
    const block = BLOCK.decode(bytes, at) as Decoded<Block>
    if (block.offset < 0 || !block.value.sync.equals(value.sync)) throw new Error('no block')
    for (let row = 0, from = 0; row < block.value.count; row++) {
      const read = type.decode(block.value.data, from) as Decoded<unknown>
      if (read.offset < 0) throw new Error('no row')
      rows.push(read.value)
      from = read.offset
    }
    at = block.offset
  }
  return rows
}

type Decoded<T> = { readonly value: T; readonly offset: number }
