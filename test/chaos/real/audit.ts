import type postgres from 'postgres';
import type { MoveRecord } from './records.ts';

/**
 * What the run itself writes down of each entry, in a schema of its own: who moved it, when, and under
 * which ownership. Each server has a login of its own, so that its name is known.
 */
const AUDIT = `
create schema chaos;
create table chaos.moves (
  number bigint generated always as identity, entry_id uuid not null, attempt integer not null,
  owner_token uuid not null, state text not null, server text not null, at timestamptz not null);
create function chaos.note() returns trigger language plpgsql security definer as $$
begin
  insert into chaos.moves (entry_id, attempt, owner_token, state, server, at)
  values (new.id, new.attempt, new.owner_token, new.state, session_user, clock_timestamp());
  return null;
end $$;
create trigger chaos_notes_opening after insert on journal_entries
  for each row execute function chaos.note();
create trigger chaos_notes_move after update on journal_entries
  for each row when (old.attempt <> new.attempt or old.owner_token <> new.owner_token
    or old.state <> new.state)
  execute function chaos.note()`;

export async function beginAudit(sql: postgres.Sql): Promise<void> {
  await sql.unsafe(AUDIT);
}

/** In the order in which they happened to each entry. */
export async function readMoves(sql: postgres.Sql): Promise<readonly MoveRecord[]> {
  return (await sql.unsafe(`
    select entry_id as "entryId", attempt, owner_token as "owner", state, server,
      extract(epoch from at)::float8 * 1000 as at
    from chaos.moves order by number`)) as unknown as readonly MoveRecord[];
}
