import { describe, expect, it } from 'vitest'
import type { LakeManifest } from '../lake-manifest.ts'
import { toNameMapping, toTableSchema } from './table-schema.ts'

type Day = Pick<LakeManifest, 'columns'>

const ID = { name: 'id', type: 'text', is_nullable: false }
const TIME = { name: 'received_time', type: 'timestamp[us, UTC]', is_nullable: false }
const BIDS = { name: 'bids_price', type: 'list<decimal(9, 4)>', is_nullable: true }
const LEVELS = { name: 'bid_levels', type: 'int32', is_nullable: false }
const OLD: Day = { columns: [ID, TIME, BIDS] }
const NEW: Day = { columns: [ID, LEVELS, TIME, BIDS] }

describe('the schema of a table', () => {
  it('numbers columns, then the elements of lists', () => {
    const { schema, lastId } = toTableSchema([OLD], undefined)
    const element = { 'element-id': 4, element: 'decimal(9, 4)', 'element-required': true }
    expect(schema).toEqual({
      type: 'struct',
      'schema-id': 0,
      fields: [
        { id: 1, name: 'id', required: true, type: 'string' },
        { id: 2, name: 'received_time', required: true, type: 'timestamptz' },
        { id: 3, name: 'bids_price', required: false, type: { type: 'list', ...element } },
      ],
    })
    expect(lastId).toBe(4)
    expect(JSON.parse(toNameMapping(schema))).toEqual([
      { 'field-id': 1, names: ['id'] },
      { 'field-id': 2, names: ['received_time'] },
      { 'field-id': 3, names: ['bids_price'], fields: [{ 'field-id': 4, names: ['element'] }] },
    ])
  })

  it('stays the same object for the same columns', () => {
    const before = toTableSchema([OLD], undefined)
    expect(toTableSchema([OLD, OLD], before)).toBe(before)
  })

  it('keeps all ids where a column comes, which can be null because older files lack it', () => {
    const before = toTableSchema([OLD], undefined)
    const after = toTableSchema([NEW, OLD], before)
    expect(after.schema['schema-id']).toBe(1)
    expect(after.lastId).toBe(5)
    expect(after.schema.fields.map(({ id, name, required }) => [id, name, required])).toEqual([
      [1, 'id', true],
      [5, 'bid_levels', false],
      [2, 'received_time', true],
      [3, 'bids_price', false],
    ])
    // Old snapshots have rows without it, even when all days were written again.
    expect(toTableSchema([NEW, NEW], after).schema.fields[1]).toMatchObject({ required: false })
  })

  it('has columns that only older files have', () => {
    const { schema } = toTableSchema([OLD, NEW], undefined)
    expect(schema.fields.map(({ name }) => name).sort()).toEqual(
      NEW.columns.map(({ name }) => name).sort(),
    )
  })

  it('refuses a column that has become another type', () => {
    const other = { columns: [ID, TIME, { ...BIDS, type: 'list<decimal(9, 6)>' }] }
    expect(() => toTableSchema([other, OLD], undefined)).toThrow(/bids_price .*decimal\(9, 4\)/)
    const before = toTableSchema([OLD], undefined)
    expect(() => toTableSchema([other], before)).toThrow(/bids_price .*decimal\(9, 6\)/)
  })
})
