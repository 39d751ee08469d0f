-- What a buyer rejected of the units that were delivered to it lately.
create index order_units_delivered on order_units (agent_id, mode, delivered_at) where delivered_at is not null;
