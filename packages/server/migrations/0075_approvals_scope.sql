-- Keys with every scope until now keep having every scope. Apart from the next file, whose locks stop minting while it runs.
update api_keys set scopes = scopes || '{approvals}'::text[]
  where scopes @> '{verify,credits,evidence,tracking,work,webhooks,partners,index,keys}'::text[]
    and not scopes @> '{approvals}'::text[];
